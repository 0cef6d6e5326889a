package apiserver

import "github.com/windlass-dev/windlass/abi"

// Request is one request, the same however often it is sent.
type Request struct {
	Method      string
	Verb        string // as RBAC has it
	Resource    abi.Resource
	Subresource string
	Namespace   string
	Name        string
	ContentType string
	Accept      string // other than the client's own
	Body        []byte
	// Foreign tells that a resource isn't built in: another server may stand behind it.
	Foreign bool
	// Once tells that it can't be done twice, however often it is sent: it makes an object of a name, demands a version,
	// deletes a UID, or does nothing at all.
	Once bool
	// OfOne tells that it is about one object, by name, version or UID: no later object of that name.
	OfOne  bool
	Params map[string]string
	// Hold is asked for each part of the answer that has been read; its error ends the reading. Nil: there is room.
	Hold func(bytes int64) error
}

func (r *Request) path() []string {
	p := []string{"apis", r.Resource.Group, r.Resource.Version}
	if r.Resource.Group == "" {
		p = []string{"api", r.Resource.Version}
	}
	if r.Namespace != "" {
		p = append(p, "namespaces", r.Namespace)
	}
	p = append(p, r.Resource.Name)
	if r.Name != "" {
		p = append(p, r.Name)
	}
	if r.Subresource != "" {
		p = append(p, r.Subresource)
	}
	return p
}

// String says what the request is about, for errors.
func (r *Request) String() string {
	s := r.Verb + " " + r.Resource.String()
	if r.Subresource != "" {
		s += "/" + r.Subresource
	}
	name := r.Name
	if r.Namespace != "" {
		name = r.Namespace + "/" + name
	}
	if name == "" {
		return s
	}
	return s + " " + name
}
