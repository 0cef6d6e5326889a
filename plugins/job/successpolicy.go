package job

// metSuccessPolicy finds the first rule of the success policy that the successes so far fulfil: all of certain indexes,
// or a number of these or of any.
func (r *run) metSuccessPolicy() (rule int, met bool) {
	policy := r.job.Spec.SuccessPolicy
	if policy == nil || len(r.done) == 0 {
		return 0, false
	}
	for i := range policy.Rules {
		x := &policy.Rules[i]
		have, all := r.done.countAll(), -1
		if x.SucceededIndexes != nil {
			wanted := parseIntervals(*x.SucceededIndexes, r.completions())
			if len(wanted) == 0 {
				continue
			}
			have, all = wanted.countCommon(r.done), wanted.countAll()
		}
		if have == all || x.SucceededCount != nil && have >= int(*x.SucceededCount) {
			return i, true
		}
	}
	return 0, false
}
