package differential

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"hash/crc32"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/windlass-dev/windlass/differential/api"
	"github.com/windlass-dev/windlass/host/record"
)

// line names a write; whether it was sent as an update or a patch is a matter of rights.
func (s *Subject) line(q *api.Request) string {
	l := strings.Replace(q.String(), "patch ", "update ", 1)
	if q.Delete != nil && q.Delete.PropagationPolicy != nil {
		l += " " + string(*q.Delete.PropagationPolicy)
	}
	for _, o := range []runtime.Object{q.Old, q.Answer} {
		if o == nil {
			continue
		}
		v, err := api.External(o, api.Version(q.Resource, ""))
		if err != nil {
			continue
		}
		m := v.(metav1.Object)
		if class := s.class(v); class != "" {
			return replaceName(l, m.GetName(), class)
		}

		return anonymous(m, l)
	}

	return l
}

// state is a cluster's, in the order of its objects. Of those that a controller may take for one another it has how
// many there are.
func (a *apart) state(c *api.Cluster, names map[string]string) string {
	var b strings.Builder
	if a.subject.Sum != nil {
		sum, err := a.subject.Sum(c)
		if err != nil {
			panic(err) // the registry's own objects
		}
		for _, line := range sum {
			b.WriteString(a.subject.normal(line, names) + "\n")
		}
	}
	for _, gvr := range c.Resources() {
		all, err := c.List(gvr)
		if err != nil || a.subject.summed(gvr) {
			continue
		}
		var texts []string
		for _, o := range all {
			text := a.text(o, names)
			if strings.Contains(text, `"20`) {
				text = written.ReplaceAllString(text, "<a time in this run>")
			}
			texts = append(texts, fmt.Sprintf("--- %s\n%s", gvr.Resource, text))
		}
		slices.Sort(texts)
		for _, text := range texts {
			b.WriteString(text)
		}
	}

	return b.String()
}

// text is an object's, with the names that were made up as names have them.
func (a *apart) text(o runtime.Object, names map[string]string) string {
	if class := a.subject.class(o); class != "" && a.several[class] {
		return class + "\n"
	}
	t := anonymous(o.(metav1.Object), text(a.subject.shaped(o)))
	if names == nil { // the clusters have grown alike
		return t
	}
	if a.subject.hosted {
		t = turned.ReplaceAllString(t, "lastTransitionTime: <a time>")
		t = certified.ReplaceAllStringFunc(t, describeCertificate)
	}
	t = a.subject.normal(quoted.ReplaceAllString(t, `-*"`), names)
	return referred.ReplaceAllString(t, `resourceVersion: "*"`)
}

// quoted is the end of a name that was made up in vain, which an error quotes.
var quoted = regexp.MustCompile(`-[bcdfghjklmnpqrstvwxz2456789]{5}"`)

// turned is when a condition became what it is: under the host one turns and turns back where a request hangs.
var turned = regexp.MustCompile(`lastTransitionTime: "[^"]+"`)

// certified is a certificate, which says when it was made.
var certified = regexp.MustCompile(`certificate: [A-Za-z0-9+/=]{100,}`)

// describeCertificate says what a certificate is about, and for how long it is good, without when it was made.
func describeCertificate(text string) string {
	der, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(text, "certificate: "))
	block, rest := pem.Decode(der)
	if err != nil || block == nil || len(rest) > 0 {
		return text
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return text
	}
	return fmt.Sprintf("certificate: of %v %v %v %v %v for %d %v by %v, authority: %v, good for %v", c.Subject, c.DNSNames,
		c.IPAddresses, c.EmailAddresses, c.URIs, c.KeyUsage, c.ExtKeyUsage, c.Issuer, c.IsCA, c.NotAfter.Sub(c.NotBefore))
}

// referred is the version of another object: how many writes there were before it is a matter of chance.
var referred = regexp.MustCompile(`resourceVersion: "\d+"`)

// shaped is an object without what isn't to be compared.
func (s *Subject) shaped(o runtime.Object) runtime.Object {
	if s.Shape == nil {
		return o
	}
	o = o.DeepCopyObject()
	s.Shape(o)
	return o
}

// anonymous takes a name that was made up out of a text: which of several objects is left may be a matter of chance.
func anonymous(m metav1.Object, text string) string {
	if base := m.GetGenerateName(); base != "" && strings.HasPrefix(m.GetName(), base) {
		return replaceName(text, m.GetName(), base+"*")
	}

	return text
}

// class names those objects that a controller may take for one another; "" is none.
func (s *Subject) class(o runtime.Object) string {
	if s.Alike == nil {
		return ""
	}
	class := s.Alike(o)
	if class == "" {
		return ""
	}

	return fmt.Sprintf("<alike %08x>", crc32.ChecksumIEEE([]byte(printed.ReplaceAllString(class, "<a time>"))))
}

// printed are times that a run has written, as Go prints them.
var printed = regexp.MustCompile(`20\d\d-\d\d-\d\d \d\d:\d\d:\d\d[0-9.]* \+0000 UTC`)

// severals are the classes of which there are several objects, before a step or after it.
func (a *apart) severals() map[string]bool {
	lists := [][]runtime.Object{a.before}
	for _, s := range a.sides {
		lists = append(lists, objectsOf(s.cluster))
	}
	several := map[string]bool{}
	for _, list := range lists {
		n := map[string]int{}
		for _, o := range list {
			class := a.subject.class(o)
			n[class]++
			several[class] = several[class] || n[class] > 1
		}
	}

	return several
}

// written are times that a run has written: its clock begins with the year 2000. Each side comes to them at its own
// pace.
var written = regexp.MustCompile(`"20\d\d-\d\d-\d\dT[0-9:.]+Z"`)

// unlike returns how the states of two clusters differ; "": they don't.
func (a *apart) unlike(theirs, ours *api.Cluster) (string, error) {
	unlike, err := api.Unlike(theirs, ours)
	if err != nil || len(unlike[0])+len(unlike[1]) == 0 {
		return "", err
	}
	a.several = a.severals()
	return record.Diff(a.state(theirs, a.names[0]), a.state(ours, a.names[1])), nil
}

func (a *apart) compare() *Difference {
	theirs, ours := a.sides[0], a.sides[1]
	text, err := a.unlike(theirs.cluster, ours.cluster)
	if err != nil {
		panic(err) // the registry's own objects
	}

	for _, s := range a.sides {
		slices.Sort(s.writes)
		s.writes = slices.Compact(s.writes) // how often is a matter of who was late for what
	}
	if d := record.Diff(strings.Join(theirs.writes, "\n")+"\n", strings.Join(ours.writes, "\n")+"\n"); d != "" {
		text += "the writes:\n" + d
	}
	if text == "" {
		text = compare(theirs.measured().Since(theirs.before), ours.measured().Since(ours.before))
	}
	if text == "" {
		return nil
	}
	told := ""
	if a.subject.Explain != nil {
		told = a.subject.Explain(a.before, text)
		text += told
	}
	deed := a.deed
	if f := a.subject.forever(a.script); f != nil {
		deed += ", " + f.String()
	}
	x, y, err := a.remain(theirs.cluster, ours.cluster)
	if err != nil {
		panic(err) // as above
	}
	x.lines = slices.Concat(theirs.writes, theirs.measured().Since(theirs.before))
	y.lines = slices.Concat(ours.writes, ours.measured().Since(ours.before))
	return &Difference{
		theirs: x, others: y, writes: theirs.writes, told: told,
		Subject: a.subject.Controller, script: a.script, Step: a.step, Deed: deed, Kind: "end", Text: text,
		now: a.began, past: slices.Clone(a.past),
		objects: func() []runtime.Object { return a.before },
	}
}

// remain returns the objects in which two clusters differ.
func (a *apart) remain(theirs, ours *api.Cluster) (x, y remains, err error) {
	unlike, err := api.Unlike(theirs, ours)
	if err != nil {
		return x, y, err
	}
	a.several = a.severals()
	texts := func(objects []api.Stored, names map[string]string) map[string]string {
		lists := map[string][]string{}
		for _, o := range objects {
			if a.subject.summed(o.Resource) {
				continue
			}
			name := anonymous(o.Object.(metav1.Object), o.Object.(metav1.Object).GetName())
			if made, ok := names[name]; ok {
				name = made
			}
			if class := a.subject.class(o.Object); class != "" && a.several[class] {
				name = class
			}
			name = o.Resource.Resource + " " + o.Object.(metav1.Object).GetNamespace() + "/" + name
			lists[name] = append(lists[name], a.text(o.Object, names))
		}
		out := map[string]string{}
		for name, list := range lists {
			slices.Sort(list)
			out[name] = written.ReplaceAllString(strings.Join(list, "---\n"), "<a time in this run>")
		}
		return out
	}

	return remains{objects: texts(unlike[0], a.names[0])}, remains{objects: texts(unlike[1], a.names[1])}, nil
}
