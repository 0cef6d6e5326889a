package docs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	sigsyaml "sigs.k8s.io/yaml"
)

// TestMain makes the test binary kubectl where a page calls that.
func TestMain(m *testing.M) {
	if os.Getenv("WINDLASS_TEST_KUBECTL") != "" {
		if err := kubectl(context.Background(), os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, "error:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// kubectl is as much of it as pages use: apply -f, create namespace, create deployment, get, label, annotate, scale,
// delete.
func kubectl(ctx context.Context, args []string) error {
	namespace, file, output, image, replicas, overwrite, rest := "default", "", "", "", "", false, []string(nil)
	for i := 0; i < len(args); i++ {
		flag, value, joined := strings.Cut(args[i], "=")
		into := map[string]*string{"-n": &namespace, "--namespace": &namespace, "-f": &file, "-o": &output,
			"--image": &image, "--replicas": &replicas}[flag]
		switch {
		case flag == "--overwrite":
			overwrite = true
		case into == nil:
			rest = append(rest, args[i])
		case joined:
			*into = value
		case i+1 < len(args):
			i++
			*into = args[i]
		}
	}

	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}

	disco, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}

	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}

	cached := memory.NewMemCacheClient(disco)
	k := tool{client, restmapper.NewShortcutExpander(restmapper.NewDeferredDiscoveryRESTMapper(cached), cached, nil),
		disco, namespace}
	switch {
	case len(rest) == 1 && rest[0] == "apply":
		return k.applyFile(ctx, file)
	case len(rest) == 3 && rest[0] == "create" && rest[1] == "namespace":
		return k.putObject(ctx, map[string]any{"apiVersion": "v1", "kind": "Namespace",
			"metadata": map[string]any{"name": rest[2]}}, "created")
	case len(rest) == 3 && rest[0] == "create" && rest[1] == "deployment":
		return k.createDeployment(ctx, rest[2], image, replicas)
	case len(rest) >= 2 && rest[0] == "get":
		return k.getObjects(ctx, rest[1:], output)
	case len(rest) == 4 && (rest[0] == "label" || rest[0] == "annotate"):
		return k.setMark(ctx, rest[0], rest[1], rest[2], rest[3], overwrite)
	case len(rest) == 3 && rest[0] == "scale":
		return k.patchObject(ctx, rest[1], rest[2], `{"spec":{"replicas":`+replicas+`}}`, "scaled")
	case len(rest) == 3 && rest[0] == "delete":
		of, err := k.targetOf(rest[1])
		if err != nil {
			return err
		}
		if err := of.client.Delete(ctx, rest[2], metav1.DeleteOptions{}); err != nil {
			return err
		}
		fmt.Printf("%s %q deleted\n", of.called, rest[2])
		return nil
	}

	return fmt.Errorf("test/docs has no kubectl %s", strings.Join(args, " "))
}

type tool struct {
	client    dynamic.Interface
	mapper    meta.RESTMapper
	disco     *discovery.DiscoveryClient
	namespace string
}

// target is what people call a resource, as the API server has it.
type target struct {
	client dynamic.ResourceInterface
	path   string // of the list
	called string // as kubectl calls one of them: deployment.apps
}

func (k *tool) targetOf(name string) (target, error) {
	gvr, err := k.mapper.ResourceFor(schema.ParseGroupResource(name).WithVersion(""))
	if err != nil {
		return target{}, err
	}
	kind, err := k.mapper.KindFor(gvr)
	if err != nil {
		return target{}, err
	}
	m, err := k.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return target{}, err
	}

	path := "/apis/" + gvr.Group
	if gvr.Group == "" {
		path = "/api"
	}
	path += "/" + gvr.Version
	if m.Scope.Name() != meta.RESTScopeNameNamespace {
		return target{k.client.Resource(gvr), path + "/" + gvr.Resource, kubectlName(kind)}, nil
	}
	path += "/namespaces/" + k.namespace + "/" + gvr.Resource
	return target{k.client.Resource(gvr).Namespace(k.namespace), path, kubectlName(kind)}, nil
}

// kubectlName returns how kubectl calls an object of a kind.
func kubectlName(kind schema.GroupVersionKind) string {
	name := strings.ToLower(kind.Kind)
	if kind.Group != "" {
		name += "." + kind.Group
	}
	return name
}

// applyFile sends the objects of a file by server-side apply.
func (k *tool) applyFile(ctx context.Context, file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	d := yaml.NewYAMLOrJSONDecoder(f, 4096)
	for {
		var o map[string]any
		if err := d.Decode(&o); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if len(o) == 0 {
			continue
		}
		if err := k.putObject(ctx, o, "applied"); err != nil {
			return err
		}
	}
}

func (k *tool) putObject(ctx context.Context, object map[string]any, did string) error {
	u := unstructured.Unstructured{Object: object}
	gvk := u.GroupVersionKind()
	m, err := k.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return err
	}
	var c dynamic.ResourceInterface = k.client.Resource(m.Resource)
	if m.Scope.Name() == meta.RESTScopeNameNamespace {
		ns := u.GetNamespace()
		if ns == "" {
			ns = k.namespace
		}
		c = k.client.Resource(m.Resource).Namespace(ns)
	}
	if _, err := c.Apply(ctx, u.GetName(), &u, metav1.ApplyOptions{FieldManager: "kubectl", Force: true}); err != nil {
		return err
	}
	fmt.Printf("%s/%s %s\n", kubectlName(gvk), u.GetName(), did)
	return nil
}

// createDeployment makes a Deployment of one container, as kubectl create deployment does.
func (k *tool) createDeployment(ctx context.Context, name, image, replicas string) error {
	labels := map[string]any{"app": name}
	n, err := strconv.ParseInt(replicas, 10, 64)
	if err != nil {
		return fmt.Errorf("--replicas: %w", err)
	}
	return k.putObject(ctx, map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": name, "labels": labels},
		"spec": map[string]any{
			"replicas": n,
			"selector": map[string]any{"matchLabels": labels},
			"template": map[string]any{
				"metadata": map[string]any{"labels": labels},
				"spec":     map[string]any{"containers": []any{map[string]any{"name": image, "image": image}}},
			},
		},
	}, "created")
}

// getObjects prints the table that the server makes, or an object as YAML without what nobody wants to read.
func (k *tool) getObjects(ctx context.Context, args []string, output string) error {
	of, err := k.targetOf(args[0])
	if err != nil {
		return err
	}

	path := of.path
	if len(args) > 1 {
		path += "/" + args[1]
	}
	if output == "yaml" && len(args) > 1 {
		o, err := of.client.Get(ctx, args[1], metav1.GetOptions{})
		if err != nil {
			return err
		}
		o.SetManagedFields(nil)
		b, err := sigsyaml.Marshal(o.Object)
		fmt.Print(string(b))
		return err
	}
	if output != "" {
		return fmt.Errorf("test/docs has no kubectl get -o %s", output)
	}

	b, err := k.disco.RESTClient().Get().AbsPath(path).SetHeader("Accept",
		"application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(ctx)
	if err != nil {
		return err
	}

	var table metav1.Table
	if err := json.Unmarshal(b, &table); err != nil {
		return err
	}
	if len(table.Rows) == 0 {
		fmt.Printf("No resources found in %s namespace.\n", k.namespace)
		return nil
	}

	w := tabwriter.NewWriter(os.Stdout, 0, 8, 3, ' ', 0)
	var heads []string
	for _, column := range table.ColumnDefinitions {
		if column.Priority == 0 {
			heads = append(heads, strings.ToUpper(column.Name))
		}
	}

	fmt.Fprintln(w, strings.Join(heads, "\t"))
	for _, r := range table.Rows {
		var cells []string
		for i, column := range table.ColumnDefinitions {
			if column.Priority == 0 {
				cells = append(cells, fmt.Sprint(r.Cells[i]))
			}
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}

	return w.Flush()
}

// setMark sets a label or annotation, or takes it away where it ends with a hyphen. One that has another value is kept
// unless it may be overwritten.
func (k *tool) setMark(ctx context.Context, verb, resource, name, mark string, overwrite bool) error {
	field, did := "labels", "labeled"
	if verb == "annotate" {
		field, did = "annotations", "annotated"
	}
	key, value, sets := strings.Cut(mark, "=")
	var v any = value
	if !sets {
		key, v, did = strings.TrimSuffix(mark, "-"), nil, "un"+did
	}
	if sets && !overwrite {
		of, err := k.targetOf(resource)
		if err != nil {
			return err
		}
		o, err := of.client.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if has, _, _ := unstructured.NestedString(o.Object, "metadata", field, key); has != "" && has != value {
			return fmt.Errorf("'%s' already has a value (%s), and --overwrite is false", key, has)
		}
	}

	b, err := json.Marshal(map[string]any{"metadata": map[string]any{field: map[string]any{key: v}}})
	if err != nil {
		return err
	}
	return k.patchObject(ctx, resource, name, string(b), did)
}

func (k *tool) patchObject(ctx context.Context, resource, name, body, did string) error {
	of, err := k.targetOf(resource)
	if err != nil {
		return err
	}
	if _, err := of.client.Patch(ctx, name, types.MergePatchType, []byte(body), metav1.PatchOptions{}); err != nil {
		return err
	}
	fmt.Printf("%s/%s %s\n", of.called, name, did)
	return nil
}
