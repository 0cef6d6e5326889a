package differential

import (
	"fmt"
	"hash/crc32"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/windlass-dev/windlass/differential/api"
	"github.com/windlass-dev/windlass/differential/world"
)

// fault picks whether and which write fails in a sync.
func (p *play) fault(r *world.Rand) *fault {
	if len(p.subject.Faults) == 0 || !r.One(4) {
		return nil
	}
	what, all := strings.CutPrefix(world.Of(r, p.subject.Faults...), "all ")
	verb, resource, _ := strings.Cut(what, " ")
	return &fault{verb: verb, all: all, resource: resource, after: r.IntN(3), reason: r.IntN(len(reasons)),
		salt: byte(r.IntN(256))}
}

// fault has some writes of a sync fail: of creates without a name all after the first few, of others those to about
// half of the objects, by their names, for which comes first is a matter of chance; those of a status all, for
// upstream's controllers try it again at once, and ours at the next sync; and all where the subject says so.
type fault struct {
	verb, resource string
	all            bool
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
		if r.Verb != f.verb || resource != f.resource || s.empty(r, write(r, map[string]string{}), nil) {
			return nil
		}

		switch {
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
