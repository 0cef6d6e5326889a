package abi

import (
	"unsafe"

	"github.com/windlass-dev/windlass/abi/wire"
)

// member is a field that exists in JSON alone.
func member(name string, kind wire.Kind, offset uintptr, elem *wire.Type) wire.Field {
	return wire.Field{Kind: kind, Offset: offset, Elem: elem, JSON: name}
}

func keep(f wire.Field) wire.Field { f.Keep = true; return f }

var resource = table[Resource](
	member("group", wire.String, unsafe.Offsetof(Resource{}.Group), nil),
	member("version", wire.String, unsafe.Offsetof(Resource{}.Version), nil),
	member("name", wire.String, unsafe.Offsetof(Resource{}.Name), nil))

var setting = table[Setting](
	member("name", wire.String, unsafe.Offsetof(Setting{}.Name), nil),
	member("default", wire.String, unsafe.Offsetof(Setting{}.Default), nil),
	member("description", wire.String, unsafe.Offsetof(Setting{}.Description), nil),
	member("file", wire.Bool, unsafe.Offsetof(Setting{}.File), nil),
	member("certificates", wire.Bool, unsafe.Offsetof(Setting{}.Certificates), nil),
	member("required", wire.Bool, unsafe.Offsetof(Setting{}.Required), nil))

var label = table[Label](
	member("name", wire.String, unsafe.Offsetof(Label{}.Name), nil),
	member("values", wire.Rep|wire.String, unsafe.Offsetof(Label{}.Values), nil),
	member("setting", wire.String, unsafe.Offsetof(Label{}.Setting), nil),
	member("from", wire.String, unsafe.Offsetof(Label{}.From), nil),
	member("view", wire.String, unsafe.Offsetof(Label{}.View), nil),
	member("paths", wire.Rep|wire.String, unsafe.Offsetof(Label{}.Paths), nil),
	member("separator", wire.String, unsafe.Offsetof(Label{}.Separator), nil),
	member("fallbacks", wire.Rep|wire.String, unsafe.Offsetof(Label{}.Fallbacks), nil))

var metric = table[Metric](
	member("name", wire.String, unsafe.Offsetof(Metric{}.Name), nil),
	member("help", wire.String, unsafe.Offsetof(Metric{}.Help), nil),
	member("type", wire.String, unsafe.Offsetof(Metric{}.Type), nil),
	member("buckets", wire.Rep|wire.Double, unsafe.Offsetof(Metric{}.Buckets), nil),
	member("labels", wire.Rep|wire.Message, unsafe.Offsetof(Metric{}.Labels), &label))

var key = table[Key](
	keep(member("view", wire.Int32, unsafe.Offsetof(Key{}.View), nil)),
	member("path", wire.String, unsafe.Offsetof(Key{}.Path), nil),
	member("single", wire.Bool, unsafe.Offsetof(Key{}.Single), nil),
	member("period", wire.Int64, unsafe.Offsetof(Key{}.Period), nil))

var condition = table[Condition](
	member("all", wire.Rep|wire.Message, unsafe.Offsetof(Condition{}.All), nil),
	member("any", wire.Rep|wire.Message, unsafe.Offsetof(Condition{}.Any), nil),
	member("each", wire.Bool, unsafe.Offsetof(Condition{}.Each), nil),
	member("where", wire.Ptr|wire.Message, unsafe.Offsetof(Condition{}.Where), nil),
	member("path", wire.String, unsafe.Offsetof(Condition{}.Path), nil),
	member("op", wire.String, unsafe.Offsetof(Condition{}.Op), nil),
	member("not", wire.Bool, unsafe.Offsetof(Condition{}.Not), nil),
	member("values", wire.Rep|wire.String, unsafe.Offsetof(Condition{}.Values), nil),
	member("view", wire.Int32, unsafe.Offsetof(Condition{}.View), nil),
	member("viewPath", wire.String, unsafe.Offsetof(Condition{}.ViewPath), nil))

var view = table[View](
	member("name", wire.String, unsafe.Offsetof(View{}.Name), nil),
	member("resource", wire.Message, unsafe.Offsetof(View{}.Resource), &resource),
	member("clusterScoped", wire.Bool, unsafe.Offsetof(View{}.ClusterScoped), nil),
	member("fields", wire.Rep|wire.String, unsafe.Offsetof(View{}.Fields), nil),
	member("where", wire.Ptr|wire.Message, unsafe.Offsetof(View{}.Where), &condition),
	member("guard", wire.Ptr|wire.Message, unsafe.Offsetof(View{}.Guard), &condition),
	member("lazy", wire.Bool, unsafe.Offsetof(View{}.Lazy), nil),
	member("askBy", wire.Rep|wire.String, unsafe.Offsetof(View{}.AskBy), nil),
	member("partial", wire.Bool, unsafe.Offsetof(View{}.Partial), nil),
	member("distinct", wire.Bool, unsafe.Offsetof(View{}.Distinct), nil),
	member("lenient", wire.Bool, unsafe.Offsetof(View{}.Lenient), nil),
	member("count", wire.Int32, unsafe.Offsetof(View{}.Count), nil),
	member("first", wire.Int32, unsafe.Offsetof(View{}.First), nil),
	member("quiet", wire.Rep|wire.String, unsafe.Offsetof(View{}.Quiet), nil),
	member("unseen", wire.Rep|wire.String, unsafe.Offsetof(View{}.Unseen), nil),
	member("quietOn", wire.Rep|wire.String, unsafe.Offsetof(View{}.QuietOn), nil),
	member("batch", wire.Int64, unsafe.Offsetof(View{}.Batch), nil))

var write = table[Write](
	member("resource", wire.Message, unsafe.Offsetof(Write{}.Resource), &resource),
	member("subresource", wire.String, unsafe.Offsetof(Write{}.Subresource), nil),
	member("verbs", wire.Rep|wire.String, unsafe.Offsetof(Write{}.Verbs), nil),
	member("namespaces", wire.Rep|wire.String, unsafe.Offsetof(Write{}.Namespaces), nil),
	member("names", wire.Rep|wire.String, unsafe.Offsetof(Write{}.Names), nil))

var backoff = table[Backoff](
	member("base", wire.Int64, unsafe.Offsetof(Backoff{}.Base), nil),
	member("max", wire.Int64, unsafe.Offsetof(Backoff{}.Max), nil),
	member("retries", wire.Int32, unsafe.Offsetof(Backoff{}.Retries), nil))

var rate = table[Rate](
	member("qps", wire.Int32, unsafe.Offsetof(Rate{}.QPS), nil),
	member("burst", wire.Int32, unsafe.Offsetof(Rate{}.Burst), nil))

var controller = table[Controller](
	member("name", wire.String, unsafe.Offsetof(Controller{}.Name), nil),
	member("alias", wire.String, unsafe.Offsetof(Controller{}.Alias), nil),
	member("queue", wire.String, unsafe.Offsetof(Controller{}.Queue), nil),
	member("serviceAccount", wire.String, unsafe.Offsetof(Controller{}.ServiceAccount), nil),
	member("eventSource", wire.String, unsafe.Offsetof(Controller{}.EventSource), nil),
	member("key", wire.Message, unsafe.Offsetof(Controller{}.Key), &key),
	member("views", wire.Rep|wire.Message, unsafe.Offsetof(Controller{}.Views), &view),
	member("writes", wire.Rep|wire.Message, unsafe.Offsetof(Controller{}.Writes), &write),
	member("workers", wire.Int32, unsafe.Offsetof(Controller{}.Workers), nil),
	member("backoff", wire.Message, unsafe.Offsetof(Controller{}.Backoff), &backoff),
	member("rate", wire.Message, unsafe.Offsetof(Controller{}.Rate), &rate),
	member("pace", wire.Int64, unsafe.Offsetof(Controller{}.Pace), nil),
	member("state", wire.Bool, unsafe.Offsetof(Controller{}.State), nil),
	member("disabledByDefault", wire.Bool, unsafe.Offsetof(Controller{}.DisabledByDefault), nil),
	member("partOf", wire.String, unsafe.Offsetof(Controller{}.PartOf), nil))

var manifest = table[Manifest](
	member("name", wire.String, unsafe.Offsetof(Manifest{}.Name), nil),
	member("version", wire.String, unsafe.Offsetof(Manifest{}.Version), nil),
	member("description", wire.String, unsafe.Offsetof(Manifest{}.Description), nil),
	member("stateVersion", wire.Int32, unsafe.Offsetof(Manifest{}.StateVersion), nil),
	member("memory", wire.Int64, unsafe.Offsetof(Manifest{}.Memory), nil),
	member("settings", wire.Rep|wire.Message, unsafe.Offsetof(Manifest{}.Settings), &setting),
	member("metrics", wire.Rep|wire.Message, unsafe.Offsetof(Manifest{}.Metrics), &metric),
	member("controllers", wire.Rep|wire.Message, unsafe.Offsetof(Manifest{}.Controllers), &controller))
