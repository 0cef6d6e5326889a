package parity

// difference is one that is meant: what differs, as [missingFamilies] writes it, with * for any text, and why.
type difference struct {
	what, why string
	sometimes bool // it takes luck, or bad luck, to see it
}

var differences = []difference{
	{what: "kubernetes_feature_enabled{*}",
		why: "upstream has one list of gates for all its programs; few of them are of controllers, and none of those can be turned here"},
	{what: "node_collector_*", why: "of a controller that isn't here, registered all the same"},
	{what: "workqueue_*{name=disruption_recheck}", why: "a budget that is looked at again has a timer"},
	{what: "workqueue_*{name=resourcequota_priority}", why: "there is one queue of quotas"},
	{what: "workqueue_*{name=resource_quota_controller_resource_changes}", why: "events put quotas into their queue at once"},
	{what: "workqueue_*{name=garbage_collector_graph_changes}", why: "there is no graph"},
	{what: "workqueue_*{name=garbage_collector_attempt_to_orphan}",
		why: "an object that orphans is a key like all others"},
	{what: "endpoint_slice_controller_syncs{result=stale}", sometimes: true,
		why: "a key that the cache is behind of isn't synced"},
	{what: "registered_metrics_total{stability_level=INTERNAL}", why: "there is no such metric"},
	{what: "aggregator_discovery_aggregation_count_total", why: "of an API server"},
	{what: "apiserver_*", why: "of an API server"},
	{what: "authenticat*", why: "another guard"},
	{what: "authorization_*", why: "another guard"},
	{what: "workqueue_*{name=Dynamic*}", why: "another guard"},
	{what: "workqueue_*{name=RequestHeaderAuthRequestController}", why: "another guard"},
}
