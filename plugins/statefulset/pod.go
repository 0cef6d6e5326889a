package statefulset

import (
	"math"
	"strconv"

	"github.com/windlass-dev/windlass/abi/wire"
	"github.com/windlass-dev/windlass/plugins/shared/history"
	appsv1 "github.com/windlass-dev/windlass/sdk/api/apps/v1"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
	"github.com/windlass-dev/windlass/sdk/decimal"
	"github.com/windlass-dev/windlass/sdk/pod"
)

// parsePodName takes a pod's name apart: the set's name, a dash, and the pod's ordinal, which is -1 where it is none.
func parsePodName(name string) (parent string, ordinal int64) {
	i := len(name)
	for i > 0 && name[i-1] >= '0' && name[i-1] <= '9' {
		i--
	}
	if i == len(name) || i == 0 || name[i-1] != '-' {
		return "", -1
	}
	n, ok := decimal.Parse(name[i:])
	if !ok || n > math.MaxInt32 {
		n = -1
	}
	return name[:i-1], n
}

func ordinal(p *corev1.Pod) int64 {
	_, n := parsePodName(p.Name)
	return n
}

// podName returns the name of the set's pod with this ordinal.
func (r *rollout) podName(n int64) string { return r.set.Name + "-" + strconv.FormatInt(n, 10) }

// sortPods tells the pods that the set should have from those that it should not.
func (r *rollout) sortPods() {
	if o := r.set.Spec.Ordinals; o != nil {
		r.first = int64(o.Start)
	}
	size := int32(1) // the API's default
	if n := r.set.Spec.Replicas; n != nil {
		size = *n
	}
	r.behind = r.first + int64(size)
	for _, p := range r.owned {
		switch n := ordinal(p); {
		case r.hasOrdinal(n):
			r.replicas = insertPod(r.replicas, p, n, 1)
		case n >= 0:
			r.condemned = insertPod(r.condemned, p, n, -1)
		}
	}
}

// insertPod puts a pod where its ordinal belongs, upwards or downwards. Of two that would have the same place, such as
// web-01 and web-1, the last has it.
func insertPod(l []*corev1.Pod, p *corev1.Pod, n, way int64) []*corev1.Pod {
	from, to := 0, len(l)
	for from < to {
		if mid := (from + to) / 2; (ordinal(l[mid])-n)*way < 0 {
			from = mid + 1
		} else {
			to = mid
		}
	}
	if from < len(l) && ordinal(l[from]) == n && way > 0 {
		l[from] = p
		return l
	}
	l = append(l, nil)
	copy(l[from+1:], l[from:])
	l[from] = p
	return l
}

// hasOrdinal reports whether the set should have a pod with this ordinal.
func (r *rollout) hasOrdinal(n int64) bool { return n >= r.first && n < r.behind }

func revision(p *corev1.Pod) string { return p.Labels.Get(appsv1.StatefulSetRevisionLabel) }

func (r *rollout) outdated(p *corev1.Pod) bool { return revision(p) != r.update.Name }

func isRunningAndReady(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodRunning && pod.Ready(p)
}

func (r *rollout) available(p *corev1.Pod) bool {
	return pod.Available(p, r.set.Spec.MinReadySeconds, r.c.Now())
}

// unavailable reports whether a pod can't be counted on: it is not available, or not for long.
func (r *rollout) unavailable(p *corev1.Pod) bool { return p.Deleting() || !r.available(p) }

// buildPod returns the pod with this ordinal as it should be made.
func (r *rollout) buildPod(n int64) (*corev1.Pod, error) {
	v, t := r.update, &r.set.Spec.Template
	if r.usesCurrentRevision(n) && r.current.Name != v.Name {
		var err error
		v = r.current
		if t, err = history.Template(v); err != nil {
			return nil, err
		}
	}
	p := pod.New(r.set, t)
	p.Name = r.podName(n)
	p.Labels = p.Labels.Clone()
	identify(p, n)
	p.Labels.Set(appsv1.StatefulSetRevisionLabel, v.Name)
	p.Spec.Hostname, p.Spec.Subdomain = p.Name, r.set.Spec.ServiceName
	p.Spec.Volumes = r.volumes(n, p.Spec.Volumes)
	return p, nil
}

// usesCurrentRevision reports whether a new pod with this ordinal is still to be of the current revision: one below the
// partition, or where none is given, below those that the roll-out has come to. Where pods have no order, a roll-out
// first deletes those that aren't available, whatever their ordinals, and a new pod would be one of these.
func (r *rollout) usesCurrentRevision(n int64) bool {
	s := &r.set.Spec.UpdateStrategy
	if u := s.RollingUpdate; u != nil {
		return u.Partition != nil && n < r.first+int64(*u.Partition)
	}
	return s.Type == appsv1.RollingUpdateStatefulSetStrategyType && (r.inOrder || !severalUnavailable.On(r.c)) &&
		n < r.first+int64(r.set.Status.CurrentReplicas)
}

func identify(p *corev1.Pod, n int64) {
	p.Labels.Set(appsv1.StatefulSetPodNameLabel, p.Name)
	p.Labels.Set(appsv1.PodIndexLabel, strconv.FormatInt(n, 10))
}

// volumes are a pod's: its claims, and what of the template's has no claim's name.
func (r *rollout) volumes(n int64, template []corev1.Volume) []corev1.Volume {
	templates := r.templates
	if len(templates) == 0 {
		return template
	}
	l := make([]corev1.Volume, len(templates), len(templates)+len(template))
	for i := range templates {
		l[i].Name = templates[i].Name
		l[i].PersistentVolumeClaim = &corev1.PersistentVolumeClaimVolumeSource{ClaimName: r.claimName(i, n)}
	}
	for i := range template {
		own := true
		for j := range templates {
			own = own && templates[j].Name != template[i].Name
		}
		if own {
			l = append(l, template[i])
		}
	}
	return l
}

// hasClaimVolumes reports whether the pod has all of its claims as volumes.
func (r *rollout) hasClaimVolumes(p *corev1.Pod, n int64) bool {
	for i := range r.templates {
		found := false
		for j := range p.Spec.Volumes {
			v := &p.Spec.Volumes[j]
			found = found || v.Name == r.templates[i].Name && v.PersistentVolumeClaim != nil &&
				v.PersistentVolumeClaim.ClaimName == r.claimName(i, n)
		}
		if !found {
			return false
		}
	}
	return true
}

// storagePatch adds the claims to a pod's volumes. API servers refuse it, for a pod keeps its volumes; the refusal is
// what people get to read.
func (r *rollout) storagePatch(n int64) []byte {
	b := []byte(`{"spec":{"volumes":[`)
	for i := range r.templates {
		if i > 0 {
			b = append(b, ',')
		}
		b = wire.AppendQuoted(append(b, `{"name":`...), r.templates[i].Name)
		b = wire.AppendQuoted(append(b, `,"persistentVolumeClaim":{"claimName":`...), r.claimName(i, n))
		b = append(b, "}}"...)
	}
	return append(b, "]}}"...)
}
