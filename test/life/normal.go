package life

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

// Names know which names depend on chance or on the manager: hashes of pod templates, by which ReplicaSets are
// called, go by the image of their first container and their place among the sets of that image.
type Names struct {
	mu     sync.Mutex
	seen   map[string]bool
	hashes map[string][][2]string // by namespace: hash, and what is written in its place
	of     map[string]int
}

// Follow notes the names of all ReplicaSets that come to be on a cluster until the test is over.
func (s *Stage) Follow(t testing.TB) *Names {
	t.Helper()
	n := &Names{seen: map[string]bool{}, hashes: map[string][][2]string{}, of: map[string]int{}}
	note := func(o any) {
		if rs, ok := o.(*appsv1.ReplicaSet); ok {
			n.noteReplicaSet(rs)
		}
	}
	following := informers.NewSharedInformerFactory(s.Client, 0)
	sets := following.Apps().V1().ReplicaSets().Informer()
	_, err := sets.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: note, UpdateFunc: func(_, o any) { note(o) }, DeleteFunc: note,
	})
	if err != nil {
		t.Fatal(err)
	}
	following.Start(t.Context().Done())
	t.Cleanup(following.Shutdown)
	return n
}

func (n *Names) noteReplicaSet(rs *appsv1.ReplicaSet) {
	n.mu.Lock()
	defer n.mu.Unlock()
	hash := rs.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
	if hash == "" || n.seen[rs.Namespace+"/"+rs.Name] {
		return
	}
	n.seen[rs.Namespace+"/"+rs.Name] = true
	owner := ""
	if o := metav1.GetControllerOf(rs); o != nil {
		owner = o.Name
	}
	image := rs.Spec.Template.Spec.Containers[0].Image
	key := rs.Namespace + "/" + owner + "/" + image
	n.of[key]++
	n.hashes[rs.Namespace] = append(n.hashes[rs.Namespace], [2]string{hash, fmt.Sprintf("<%s,%d>", image, n.of[key])})
}

// Know reports whether all ReplicaSets that there are have been noted.
func (n *Names) Know(ctx context.Context, s *Stage) (bool, error) {
	l, err := s.Client.AppsV1().ReplicaSets("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return false, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, rs := range l.Items {
		if rs.Labels[appsv1.DefaultDeploymentUniqueLabelKey] != "" && !n.seen[rs.Namespace+"/"+rs.Name] {
			return false, nil
		}
	}
	return true, nil
}

// normal replaces what depends on chance in a script's namespaces.
type normal struct {
	hashes [][2]string
	fixed  bool // nodes are compared
}

func (n *Names) hashesIn(namespaces ...string) (all [][2]string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, in := range namespaces {
		all = append(all, n.hashes[in]...)
	}
	return all
}

func (n *Names) normalFor(namespace string, s *Script) normal {
	return normal{hashes: n.hashesIn(append([]string{namespace}, s.Namespaces...)...), fixed: s.Nodes == "fixed"}
}

var (
	number = regexp.MustCompile(`\b\d+\b`)
	// random is the end of a generated name.
	random = regexp.MustCompile(`([a-z0-9>])-[bcdfghjklmnpqrstvwxz2456789]{5}\b`)
	uid    = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	moment = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	node   = regexp.MustCompile(`^(node-\d|zone-[abc])$`)
	// quoted is where a message names a set. Which one a Deployment that recreates its pods names in the end is a
	// matter of chance with either manager: it makes the new set when the last old pod has gone, and when its
	// status changes at that very moment, the update that would say so conflicts, and is not made again while no
	// pod is there.
	quoted  = regexp.MustCompile(`"[^"]*-[^"]*"`)
	pemText = regexp.MustCompile(`(?s)-----BEGIN .*-----END [A-Z ]+-----`)
)

func (n normal) normalText(s string) string {
	if about := describeCredential(s); about != "" {
		s = about
	}
	for _, h := range n.hashes {
		s = strings.ReplaceAll(s, h[0], h[1])
	}
	s = random.ReplaceAllString(s, "$1-*")
	s = uid.ReplaceAllString(s, "UID")
	s = moment.ReplaceAllString(s, "TIME")
	s = pemText.ReplaceAllString(s, "PEM")
	switch {
	case net.ParseIP(s) != nil:
		return "IP"
	case !n.fixed && node.MatchString(s):
		return "NODE"
	}
	return s
}

// objectLines returns the fields of a script's objects. An object with a generated name goes by its owner, its labels
// and its place among the likes of it, in the order of what they hold.
func (n *Names) objectLines(objects []unstructured.Unstructured, namespace string, script *Script) Lines {
	normal := n.normalFor(namespace, script)
	type entry struct {
		key, text string
		fields    Lines
	}

	var all []entry
	for i := range objects {
		o := &objects[i]
		e := entry{key: o.GetKind() + " " + normal.normalText(o.GetName()), fields: Lines{}}
		if o.GetNamespace() != namespace && o.GetNamespace() != "" {
			e.key += " in " + o.GetNamespace()
		}
		normal.flatten(e.fields, "", normal.normalObject(o))
		keys := make([]string, 0, len(e.fields))
		for k := range e.fields {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		for _, k := range keys {
			e.text += k + "=" + e.fields[k] + "\n"
		}
		all = append(all, e)
	}

	slices.SortFunc(all, func(a, b entry) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.text, b.text)) })
	lines, of := Lines{}, map[string]int{}
	for _, e := range all {
		of[e.key]++
		key := e.key
		if n := of[e.key]; n > 1 {
			key += fmt.Sprint(" #", n)
		}
		lines[key] = "is there"
		for path, v := range e.fields {
			lines[key+" "+path] = v
		}
	}

	return lines
}

// normalObject returns an object without what two runs never have in common, and with its managers in a word each.
func (n normal) normalObject(o *unstructured.Unstructured) map[string]any {
	who := managers(o)
	b, err := json.Marshal(o.Object)
	if err != nil {
		panic(err) // it came out of JSON
	}
	var v map[string]any
	if err := json.Unmarshal(b, &v); err != nil {
		panic(err)
	}
	metadata := v["metadata"].(map[string]any)
	status, ok := v["status"].(map[string]any)
	if ok && metadata["generation"] != nil && status["observedGeneration"] == metadata["generation"] {
		status["observedGeneration"] = "current"
	}
	for _, k := range []string{"uid", "resourceVersion", "generation", "managedFields", "name", "selfLink"} {
		delete(metadata, k)
	}
	metadata["managers"] = who

	if o.GetKind() == "Pod" && !n.fixed {
		labels, _ := metadata["labels"].(map[string]any)
		delete(labels, "topology.kubernetes.io/zone")
		delete(labels, "topology.kubernetes.io/region")
	}

	if status, ok := v["status"].(map[string]any); ok && o.GetKind() == "Pod" && status["conditions"] != nil {
		status["conditions"] = slices.DeleteFunc(status["conditions"].([]any), func(c any) bool { // the scheduler's
			return c.(map[string]any)["type"] == "PodScheduled"
		})
	}

	strategy, _, _ := unstructured.NestedString(v, "spec", "strategy", "type")
	if status, ok := v["status"].(map[string]any); ok && o.GetKind() == "Deployment" && strategy == "Recreate" {
		conditions, _ := status["conditions"].([]any)
		for _, c := range conditions {
			c := c.(map[string]any)
			c["message"] = quoted.ReplaceAllString(c["message"].(string), "some set")
		}
	}

	if o.GetKind() == "Node" {
		delete(v, "status") // KWOK's heartbeats
	}
	delete(v, "kind")
	return v
}

// keys are the fields by which the elements of lists are told apart.
var keys = []string{"type", "name", "uid", "ip"}

// keyless are the lists whose elements have something like a key that is by chance.
var keyless = []string{"endpoints", "addresses", "notReadyAddresses", "forZones"}

// unordered are the lists whose order is that in which things came to be.
var unordered = []string{"conditions", "endpoints", "addresses", "notReadyAddresses", "subsets",
	"ownerReferences", "finalizers", "forZones"}

// flatten writes a value's scalars by their paths.
func (n normal) flatten(to Lines, path string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			if k == "resourceVersion" && v["uid"] != nil {
				continue // of a reference: how far the whole cluster was
			}
			n.flatten(to, strings.TrimPrefix(path+"."+n.normalText(k), "."), x)
		}
	case []string:
		to[path] = strings.Join(v, ", ")
	case []any:
		n.flattenList(to, path, v)
	case string:
		to[path] = n.normalText(v)
	default:
		to[path] = jsonText(v)
	}
}

func (n normal) flattenList(to Lines, path string, list []any) {
	field := path[strings.LastIndexByte(path, '.')+1:]
	type element struct {
		key    string
		fields Lines
		text   string
	}

	var all []element
	for i, x := range list {
		e := element{key: fmt.Sprint(i), fields: Lines{}}
		n.flatten(e.fields, "", x)
		b, _ := json.Marshal(e.fields) // strings
		e.text = string(b)
		if m, ok := x.(map[string]any); ok && !slices.Contains(keyless, field) {
			for _, k := range keys {
				if name, ok := m[k].(string); ok {
					e.key = n.normalText(name)
					break
				}
			}
		}
		all = append(all, e)
	}

	if slices.Contains(unordered, field) {
		slices.SortFunc(all, func(a, b element) int { return cmp.Compare(a.text, b.text) })
		for i := range all {
			if number.FindString(all[i].key) == all[i].key {
				all[i].key = fmt.Sprint(i)
			}
		}
	}

	seen := map[string]int{}
	for _, e := range all {
		if seen[e.key]++; seen[e.key] > 1 {
			e.key += fmt.Sprint("#", seen[e.key])
		}
		for k, v := range e.fields {
			at := fmt.Sprintf("%s[%s]", path, e.key)
			if k != "" {
				at += "." + k
			}
			to[at] = v
		}
	}
}
