package metrics

import (
	"time"
	"unsafe"

	"github.com/windlass-dev/windlass/abi/wire"
	corev1 "github.com/windlass-dev/windlass/sdk/api/core/v1"
)

// PodMetrics is what a pod's containers use (metrics.k8s.io/v1beta1).
type PodMetrics struct {
	Metadata   Metadata
	Timestamp  wire.Time
	Window     string
	Containers []ContainerMetrics
}

// Metadata is what is read of an object's metadata.
type Metadata struct{ Name string }

// ContainerMetrics is what a container uses.
type ContainerMetrics struct {
	Name  string
	Usage corev1.ResourceList
}

// MetricValue is the value of a metric for an object (custom.metrics.k8s.io, v1beta1 or v1beta2) or of one of its
// series (external.metrics.k8s.io/v1beta1).
type MetricValue struct {
	DescribedObject Metadata
	Timestamp       wire.Time
	WindowSeconds   *int64
	Window          *int64 // what v1beta1 calls WindowSeconds
	Value           wire.Quantity
}

// minute is the window of a metric that doesn't say its own.
const minute = time.Minute

// Duration is the time before the timestamp that the usage was measured in.
func (m *PodMetrics) Duration() time.Duration {
	d, _ := time.ParseDuration(m.Window)
	return d
}

// Duration is the time before the timestamp that the value was measured in, a minute where it doesn't say.
func (m *MetricValue) Duration() time.Duration {
	switch {
	case m.WindowSeconds != nil:
		return time.Duration(*m.WindowSeconds) * time.Second
	case m.Window != nil:
		return time.Duration(*m.Window) * time.Second
	}
	return minute
}

type podMetricsList struct{ Items []PodMetrics }

type metricValueList struct{ Items []MetricValue }

// These types travel in JSON alone: the numbers of their fields are in ascending order and mean nothing.
var (
	podMetricsListTable = wire.Type{Size: unsafe.Sizeof(podMetricsList{}), New: wire.Grow[podMetricsList],
		Fields: []wire.Field{
			{Num: 1, Kind: wire.Rep | wire.Message, Offset: unsafe.Offsetof(podMetricsList{}.Items), Elem: &podMetricsTable,
				JSON: "items"},
		}}
	podMetricsTable = wire.Type{Size: unsafe.Sizeof(PodMetrics{}), New: wire.Grow[PodMetrics], Fields: []wire.Field{
		{Num: 1, Kind: wire.Message, Offset: unsafe.Offsetof(PodMetrics{}.Metadata), Elem: &metadataTable, JSON: "metadata"},
		{Num: 2, Kind: wire.Message, Offset: unsafe.Offsetof(PodMetrics{}.Timestamp), Elem: &wire.TimeTable,
			JSON: "timestamp"},
		{Num: 3, Kind: wire.String, Offset: unsafe.Offsetof(PodMetrics{}.Window), JSON: "window"},
		{Num: 4, Kind: wire.Rep | wire.Message, Offset: unsafe.Offsetof(PodMetrics{}.Containers),
			Elem: &containerMetricsTable, JSON: "containers"},
	}}
	metadataTable = wire.Type{Size: unsafe.Sizeof(Metadata{}), New: wire.Grow[Metadata], Fields: []wire.Field{
		{Num: 1, Kind: wire.String, Offset: unsafe.Offsetof(Metadata{}.Name), JSON: "name"},
	}}
	containerMetricsTable = wire.Type{Size: unsafe.Sizeof(ContainerMetrics{}), New: wire.Grow[ContainerMetrics],
		Fields: []wire.Field{
			{Num: 1, Kind: wire.String, Offset: unsafe.Offsetof(ContainerMetrics{}.Name), JSON: "name"},
			{Num: 2, Kind: wire.Map | wire.Message, Offset: unsafe.Offsetof(ContainerMetrics{}.Usage), Elem: &amountTable,
				JSON: "usage"},
		}}
	amountTable = wire.Type{Size: unsafe.Sizeof(amount{}), New: wire.Grow[amount], Fields: []wire.Field{
		{Num: 1, Kind: wire.String, Offset: unsafe.Offsetof(amount{}.Key)},
		{Num: 2, Kind: wire.Message, Offset: unsafe.Offsetof(amount{}.Value), Elem: &wire.QuantityTable},
	}}
	metricValueListTable = wire.Type{Size: unsafe.Sizeof(metricValueList{}), New: wire.Grow[metricValueList],
		Fields: []wire.Field{
			{Num: 1, Kind: wire.Rep | wire.Message, Offset: unsafe.Offsetof(metricValueList{}.Items), Elem: &metricValueTable,
				JSON: "items"},
		}}
	metricValueTable = wire.Type{Size: unsafe.Sizeof(MetricValue{}), New: wire.Grow[MetricValue], Fields: []wire.Field{
		{Num: 1, Kind: wire.Message, Offset: unsafe.Offsetof(MetricValue{}.DescribedObject), Elem: &metadataTable,
			JSON: "describedObject"},
		{Num: 2, Kind: wire.Message, Offset: unsafe.Offsetof(MetricValue{}.Timestamp), Elem: &wire.TimeTable,
			JSON: "timestamp"},
		{Num: 3, Kind: wire.Ptr | wire.Int64, Offset: unsafe.Offsetof(MetricValue{}.WindowSeconds), JSON: "windowSeconds"},
		{Num: 4, Kind: wire.Ptr | wire.Int64, Offset: unsafe.Offsetof(MetricValue{}.Window), JSON: "window"},
		{Num: 5, Kind: wire.Message, Offset: unsafe.Offsetof(MetricValue{}.Value), Elem: &wire.QuantityTable, JSON: "value"},
	}}
)

type amount = wire.Entry[corev1.ResourceName, wire.Quantity]
