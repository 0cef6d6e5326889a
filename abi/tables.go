package abi

import (
	"unsafe"

	"github.com/windlass-dev/windlass/abi/wire"
)

func field(num uint32, kind wire.Kind, offset uintptr, elem *wire.Type) wire.Field {
	return wire.Field{Num: num, Kind: kind, Offset: offset, Elem: elem}
}

var settings = table[Settings](
	field(1, wire.Rep|wire.String, unsafe.Offsetof(Settings{}.Values), nil))

var keyRef = table[KeyRef](
	field(1, wire.String, unsafe.Offsetof(KeyRef{}.Resource), nil),
	field(2, wire.String, unsafe.Offsetof(KeyRef{}.Namespace), nil),
	field(3, wire.String, unsafe.Offsetof(KeyRef{}.Name), nil))

var objectData = table[ObjectData](
	field(1, wire.Bytes, unsafe.Offsetof(ObjectData{}.Data), nil),
	field(2, wire.String, unsafe.Offsetof(ObjectData{}.ResourceVersion), nil),
	field(3, wire.String, unsafe.Offsetof(ObjectData{}.Resource), nil),
	field(4, wire.String, unsafe.Offsetof(ObjectData{}.Kind), nil),
	field(5, wire.Int64, unsafe.Offsetof(ObjectData{}.Count), nil))

var viewData = table[ViewData](
	field(1, wire.Int32, unsafe.Offsetof(ViewData{}.View), nil),
	field(2, wire.String, unsafe.Offsetof(ViewData{}.StoreVersion), nil),
	field(3, wire.Rep|wire.Message, unsafe.Offsetof(ViewData{}.Objects), &objectData),
	field(4, wire.Int64, unsafe.Offsetof(ViewData{}.Count), nil),
	field(5, wire.Bool, unsafe.Offsetof(ViewData{}.Guarded), nil),
	field(6, wire.Rep|wire.String, unsafe.Offsetof(ViewData{}.Unlisted), nil),
	field(7, wire.Bool, unsafe.Offsetof(ViewData{}.Unserved), nil))

var syncRequest = table[SyncRequest](
	field(1, wire.Int32, unsafe.Offsetof(SyncRequest{}.Controller), nil),
	field(2, wire.Message, unsafe.Offsetof(SyncRequest{}.Key), &keyRef),
	field(3, wire.Int64, unsafe.Offsetof(SyncRequest{}.Now), nil),
	field(4, wire.Int32, unsafe.Offsetof(SyncRequest{}.Attempt), nil),
	field(5, wire.String, unsafe.Offsetof(SyncRequest{}.Settings), nil),
	field(6, wire.Bytes, unsafe.Offsetof(SyncRequest{}.State), nil),
	field(7, wire.Rep|wire.Message, unsafe.Offsetof(SyncRequest{}.Views), &viewData),
	field(8, wire.Int64, unsafe.Offsetof(SyncRequest{}.Timer), nil))

var metricUpdate = table[MetricUpdate](
	field(1, wire.Int32, unsafe.Offsetof(MetricUpdate{}.Metric), nil),
	field(2, wire.Rep|wire.Int32, unsafe.Offsetof(MetricUpdate{}.Labels), nil),
	field(3, wire.Double, unsafe.Offsetof(MetricUpdate{}.Value), nil),
	field(4, wire.String, unsafe.Offsetof(MetricUpdate{}.Namespace), nil),
	field(5, wire.Int32, unsafe.Offsetof(MetricUpdate{}.From), nil),
	field(6, wire.Int32, unsafe.Offsetof(MetricUpdate{}.To), nil),
	field(7, wire.Int32, unsafe.Offsetof(MetricUpdate{}.Row), nil))

var eventData = table[EventData](
	field(1, wire.String, unsafe.Offsetof(EventData{}.Type), nil),
	field(2, wire.String, unsafe.Offsetof(EventData{}.Reason), nil),
	field(3, wire.String, unsafe.Offsetof(EventData{}.Message), nil))

var ask = table[Ask](
	field(1, wire.Int32, unsafe.Offsetof(Ask{}.View), nil),
	field(2, wire.String, unsafe.Offsetof(Ask{}.Namespace), nil),
	field(3, wire.Rep|wire.String, unsafe.Offsetof(Ask{}.Names), nil),
	field(4, wire.String, unsafe.Offsetof(Ask{}.Path), nil),
	field(5, wire.Rep|wire.String, unsafe.Offsetof(Ask{}.Values), nil),
	field(6, wire.Bytes, unsafe.Offsetof(Ask{}.Selector), nil),
	field(7, wire.Bool, unsafe.Offsetof(Ask{}.Fresh), nil),
	field(8, wire.Bool, unsafe.Offsetof(Ask{}.Count), nil),
	field(9, wire.Bool, unsafe.Offsetof(Ask{}.Shared), nil),
	field(10, wire.String, unsafe.Offsetof(Ask{}.Resource), nil))

var wake = table[Wake](
	field(1, wire.Int32, unsafe.Offsetof(Wake{}.Controller), nil),
	field(2, wire.Message, unsafe.Offsetof(Wake{}.Key), &keyRef))

var discover = table[Discover](
	field(1, wire.String, unsafe.Offsetof(Discover{}.APIVersion), nil),
	field(2, wire.String, unsafe.Offsetof(Discover{}.Kind), nil))

var apiResource = table[APIResource](
	field(1, wire.String, unsafe.Offsetof(APIResource{}.Resource), nil),
	field(2, wire.String, unsafe.Offsetof(APIResource{}.Kind), nil),
	field(3, wire.Bool, unsafe.Offsetof(APIResource{}.Namespaced), nil),
	field(4, wire.Rep|wire.String, unsafe.Offsetof(APIResource{}.Verbs), nil))

var discoveryFailure = table[DiscoveryFailure](
	field(1, wire.String, unsafe.Offsetof(DiscoveryFailure{}.GroupVersion), nil),
	field(2, wire.String, unsafe.Offsetof(DiscoveryFailure{}.Message), nil))

var discovery = table[Discovery](
	field(1, wire.Rep|wire.Message, unsafe.Offsetof(Discovery{}.Resources), &apiResource),
	field(2, wire.Rep|wire.Message, unsafe.Offsetof(Discovery{}.Failures), &discoveryFailure))

var fact = table[Fact](
	field(1, wire.Message, unsafe.Offsetof(Fact{}.Key), &keyRef),
	field(2, wire.Bytes, unsafe.Offsetof(Fact{}.Data), nil))

var zone = table[Zone](
	field(1, wire.String, unsafe.Offsetof(Zone{}.Name), nil),
	field(2, wire.Int64, unsafe.Offsetof(Zone{}.At), nil))

var zonePeriod = table[ZonePeriod](
	field(1, wire.Int32, unsafe.Offsetof(ZonePeriod{}.Offset), nil),
	field(2, wire.Int64, unsafe.Offsetof(ZonePeriod{}.Begin), nil),
	field(3, wire.Int64, unsafe.Offsetof(ZonePeriod{}.End), nil))

var sign = table[Sign](
	field(1, wire.Int32, unsafe.Offsetof(Sign{}.Kind), nil),
	field(2, wire.String, unsafe.Offsetof(Sign{}.Token), nil))

// An effect's members are of its own type, which a nil Elem stands for.
var effect = table[Effect](
	field(1, wire.Int32, unsafe.Offsetof(Effect{}.Kind), nil),
	field(2, wire.String, unsafe.Offsetof(Effect{}.Resource), nil),
	field(3, wire.String, unsafe.Offsetof(Effect{}.Subresource), nil),
	field(4, wire.String, unsafe.Offsetof(Effect{}.Namespace), nil),
	field(5, wire.String, unsafe.Offsetof(Effect{}.Name), nil),
	field(6, wire.Bytes, unsafe.Offsetof(Effect{}.Object), nil),
	field(7, wire.Int32, unsafe.Offsetof(Effect{}.Patch), nil),
	field(8, wire.Int32, unsafe.Offsetof(Effect{}.Precondition), nil),
	field(9, wire.String, unsafe.Offsetof(Effect{}.UID), nil),
	field(10, wire.String, unsafe.Offsetof(Effect{}.Version), nil),
	field(11, wire.Int32, unsafe.Offsetof(Effect{}.Tolerate), nil),
	field(12, wire.Bool, unsafe.Offsetof(Effect{}.DryRun), nil),
	field(13, wire.Int32, unsafe.Offsetof(Effect{}.Propagation), nil),
	field(14, wire.Int64, unsafe.Offsetof(Effect{}.Grace), nil),
	field(15, wire.Bool, unsafe.Offsetof(Effect{}.HasGrace), nil),
	field(16, wire.Bool, unsafe.Offsetof(Effect{}.Always), nil),
	field(17, wire.Int32, unsafe.Offsetof(Effect{}.Mode), nil),
	field(18, wire.Rep|wire.Message, unsafe.Offsetof(Effect{}.Members), nil),
	field(19, wire.Ptr|wire.Message, unsafe.Offsetof(Effect{}.Event), &eventData),
	field(20, wire.Ptr|wire.Message, unsafe.Offsetof(Effect{}.Ask), &ask),
	field(21, wire.Ptr|wire.Message, unsafe.Offsetof(Effect{}.Wake), &wake),
	field(22, wire.Ptr|wire.Message, unsafe.Offsetof(Effect{}.Discover), &discover),
	field(23, wire.String, unsafe.Offsetof(Effect{}.Path), nil),
	field(24, wire.Bool, unsafe.Offsetof(Effect{}.Metadata), nil),
	field(25, wire.Rep|wire.String, unsafe.Offsetof(Effect{}.Terms), nil),
	field(26, wire.Ptr|wire.Message, unsafe.Offsetof(Effect{}.Zone), &zone),
	field(27, wire.Ptr|wire.Message, unsafe.Offsetof(Effect{}.Sign), &sign))

var syncResponse = table[SyncResponse](
	field(1, wire.Rep|wire.Message, unsafe.Offsetof(SyncResponse{}.Effects), &effect),
	field(2, wire.Bytes, unsafe.Offsetof(SyncResponse{}.State), nil),
	field(3, wire.Bool, unsafe.Offsetof(SyncResponse{}.KeepState), nil),
	field(4, wire.Int64, unsafe.Offsetof(SyncResponse{}.RequeueAfter), nil),
	field(5, wire.String, unsafe.Offsetof(SyncResponse{}.Error), nil),
	field(6, wire.Rep|wire.Message, unsafe.Offsetof(SyncResponse{}.Metrics), &metricUpdate))

var performRequest = table[PerformRequest](
	field(1, wire.Rep|wire.Message, unsafe.Offsetof(PerformRequest{}.Effects), &effect))

var outcome = table[Outcome](
	field(1, wire.Int32, unsafe.Offsetof(Outcome{}.Code), nil),
	field(2, wire.String, unsafe.Offsetof(Outcome{}.Reason), nil),
	field(3, wire.String, unsafe.Offsetof(Outcome{}.Message), nil),
	field(4, wire.Message, unsafe.Offsetof(Outcome{}.Object), &objectData),
	field(5, wire.String, unsafe.Offsetof(Outcome{}.Name), nil),
	field(6, wire.String, unsafe.Offsetof(Outcome{}.UID), nil),
	field(7, wire.Rep|wire.Message, unsafe.Offsetof(Outcome{}.Members), nil),
	field(8, wire.Ptr|wire.Message, unsafe.Offsetof(Outcome{}.View), &viewData),
	field(9, wire.Ptr|wire.Message, unsafe.Offsetof(Outcome{}.Discovery), &discovery),
	field(10, wire.Rep|wire.Message, unsafe.Offsetof(Outcome{}.Facts), &fact),
	field(11, wire.Ptr|wire.Message, unsafe.Offsetof(Outcome{}.Zone), &zonePeriod))

var performResponse = table[PerformResponse](
	field(1, wire.Rep|wire.Message, unsafe.Offsetof(PerformResponse{}.Outcomes), &outcome))
