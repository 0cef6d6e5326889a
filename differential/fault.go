package differential

import (
	"crypto/sha256"
	"fmt"
	"hash/crc32"
	"os"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/windlass-dev/windlass/differential/api"
	"github.com/windlass-dev/windlass/differential/world"
)

// fault picks whether and which write fails in a sync. Where some are refused for ever, no others are.
func (p *play) fault(r *world.Rand) *fault {
	if p.forever != nil {
		return p.forever
	}
	if len(p.subject.Faults) == 0 || !r.One(4) {
		return nil
	}
	return p.subject.newFault(r)
}

func (s *Subject) newFault(r *world.Rand) *fault {
	what, all := strings.CutPrefix(world.Of(r, s.Faults...), "all ")
	verb, resource, _ := strings.Cut(what, " ")
	return &fault{verb: verb, all: all, resource: resource, after: r.IntN(3), reason: r.IntN(len(reasons)),
		salt: byte(r.IntN(256))}
}

// refusing is the share of the worlds in which some objects are refused for ever, one of so many, where the environment
// doesn't say that they are in all (REFUSE=1).
const refusing = 8

// forever picks whether there are objects that are refused as long as a world lasts, in every sync, as by a policy of
// admission; and which writes of which objects. The others are what a controller must get to all the same.
func (s *Subject) forever(x *script) *fault {
	if len(s.Faults) == 0 || x.seed%refusing != 0 && os.Getenv("REFUSE") == "" {
		return nil
	}
	f := s.newFault(world.NewRand(x.seed*1000 + 999))
	f.forever = true
	return f
}

// fault has some writes of a sync fail: of creates without a name all after the first few, of others those to about
// half of the objects, by their names, for which comes first is a matter of chance; those of a status all, for
// upstream's controllers try it again at once, and ours at the next sync; and all where the subject says so.
type fault struct {
	verb, resource string
	all, forever   bool
	after, reason  int
	salt           byte
}

var reasons = []func(gr schema.GroupResource, name string) error{
	func(gr schema.GroupResource, name string) error {
		return apierrors.NewForbidden(gr, name, fmt.Errorf("exceeded quota"))
	},
	func(schema.GroupResource, string) error {
		return apierrors.NewInternalError(fmt.Errorf("out of order"))
	},
	func(gr schema.GroupResource, name string) error {
		return apierrors.NewInvalid(schema.GroupKind{Group: gr.Group, Kind: gr.Resource}, name, nil)
	},
}

func (f *fault) String() string {
	if f.forever {
		return fmt.Sprintf("%s %s is refused for ever for some", f.verb, f.resource)
	}
	return fmt.Sprintf("%s %s fails", f.verb, f.resource)
}

// random is the end of a name that the server or the host has made up: what fails mustn't hang on that.
var random = regexp.MustCompile(`-[bcdfghjklmnpqrstvwxz2456789]{5}$`)

func (f *fault) begin(s *Subject) func(*api.Request) error {
	seen := 0
	return func(r *api.Request) error {
		resource := r.Resource.Resource
		if r.Subresource != "" {
			resource += "/" + r.Subresource
		}
		verb := r.Verb
		one := f.forever || r.Subresource == "status" // a policy takes them for one, and of a status all fail
		if one && (verb == "patch" && f.verb == "update" || verb == "update" && f.verb == "patch") {
			verb = f.verb
		}
		if verb != f.verb || resource != f.resource || s.empty(r, nil) {
			return nil
		}

		switch {
		case f.forever:
			if h := sha256.Sum256(append([]byte(s.told(r)), f.salt)); h[0]%2 == 0 {
				return nil
			}
		case f.all:
		case r.Verb == "create" && !r.Generated():
			if h := crc32.ChecksumIEEE(append([]byte(random.ReplaceAllString(s.renamed(r), "")), f.salt)); h%2 == 0 {
				return nil
			}
		case r.Verb == "create":
			if seen++; seen <= f.after {
				return nil
			}
		case r.Subresource == "":
			if h := crc32.ChecksumIEEE(append([]byte(random.ReplaceAllString(r.Name, "")), f.salt)); h%2 == 0 {
				return nil
			}
		}
		return reasons[f.reason](r.Resource.GroupResource(), r.Name)
	}
}

// renamed is the name that a created object goes by.
func (s *Subject) renamed(r *api.Request) string {
	if s.Renames != nil {
		if name, ok := s.Renames(r.Sent)[r.Name]; ok {
			return name
		}
	}
	return r.Name
}

// told is what a write's object is told apart from others by: what the subject says, or its name, or the beginning of
// one that is made up.
func (s *Subject) told(r *api.Request) string {
	o := r.Sent
	if o == nil {
		o = r.Old
	}
	if s.Told != nil && o != nil {
		v, err := api.External(o, api.Version(r.Resource, ""))
		if text := ""; err == nil {
			if text = s.Told(v); text != "" {
				return text
			}
		}
	}
	if m, ok := r.Sent.(metav1.Object); ok && r.Generated() {
		return m.GetGenerateName()
	}
	return r.Namespace + "/" + random.ReplaceAllString(s.renamed(r), "")
}

// inOrderOfChance reports whether it is chance which of several objects upstream's controller gets to before one that
// is refused for ever.
func (p *play) inOrderOfChance() bool { return p.forever != nil && p.subject.Told != nil }
