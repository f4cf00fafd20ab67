package collector

// rgwTable holds what the ops log of the RADOS gateways shows.
type rgwTable struct {
	Table

	// per gateway
	completed, failures, unsized, uploadedBytes *Row
	parts, partBytes, partFailures              *Row
	initiated, aborted, repeated                *Row
	records, foreign, lastRecord, putRequests   *Row
	junkBytes, junkRuns, oversized, lag, files  *Row
	enabled, ownPuts                            *Row
	// of the whole view
	size, duration                              *Row
	open, abandoned, oldest, viewComplete       *Row
	forgotten, overrun, gaps                    *Row
	streamJunk, streamForeign, streamDuplicates *Row
	streamUnnamed, streamRefused, streamSenders *Row
	bucketUploads, bucketBytes                  *Row
	userUploads, userBytes                      *Row
}

const (
	rgwLog  = "RGW ops log"
	rgwBook = "RGW ops log, the exporter's books"
	rgwPer  = "one per gateway"
)

func newRGWTable() *rgwTable {
	t := &rgwTable{}
	t.addGateway()
	t.addReading()
	t.addView()
	t.addStreams()
	t.addTallies()
	return t
}

// gateway adds a row with the labels of a gateway and more.
func (t *rgwTable) gateway(kind Kind, name, help, per, source string, more ...string) *Row {
	return t.Add(Row{Name: "cephrisk_rgw_" + name, Help: help, Kind: kind, Cardinality: per, Source: source,
		Labels: append([]string{"ceph_daemon", "instance_id"}, more...)})
}

func (t *rgwTable) addGateway() {
	t.completed = t.gateway(Counter, "uploads_completed_total",
		"Uploads completed, each once: put is a plain PUT of an object (S3 or Swift), multipart a completed multipart upload however often its completion was reported, copy a server-side copy, post a POST form",
		"one per gateway and kind", rgwLog+", operation and http_status", "kind")
	t.failures = t.gateway(Counter, "upload_failures_total",
		"Requests that would have completed an upload and failed; 4xx are the clients' own",
		"one per gateway, kind and class", rgwLog+", http_status", "kind", "status_class")
	t.unsized = t.gateway(Counter, "uploads_unsized_total",
		"Completed multipart uploads whose size is not known, because their initiation was not seen, or records may have been lost while they were open",
		rgwPer, rgwBook)
	t.uploadedBytes = t.gateway(Counter, "uploaded_bytes_total",
		"Bytes of completed uploads; of a multipart the sum of its parts, a part sent again counting once, and only where all gateways' logs are seen (cephrisk_rgw_multipart_view_complete). Copies have none in the log",
		"one per gateway and kind", rgwLog+", object_size", "kind")
	t.parts = t.gateway(Counter, "multipart_parts_total", "Parts uploaded or copied, those sent again included", rgwPer, rgwLog+", put_obj with uploadId in the query")
	t.partBytes = t.gateway(Counter, "part_bytes_total", "Bytes of parts, where they landed, those sent again included", rgwPer, rgwLog+", object_size")
	t.partFailures = t.gateway(Counter, "multipart_part_failures_total", "Parts that failed", "one per gateway and class", rgwLog+", http_status", "status_class")
	t.initiated = t.gateway(Counter, "multipart_initiated_total", "Multipart uploads initiated", rgwPer, rgwLog+", init_multipart")
	t.aborted = t.gateway(Counter, "multipart_aborted_total", "Multipart uploads aborted by clients. What a lifecycle rule aborts never reaches the log", rgwPer, rgwLog+", abort_multipart")
	t.repeated = t.gateway(Counter, "multipart_completions_repeated_total", "Successful completions of uploads that were completed before: clients that tried again", rgwPer, rgwLog+", complete_multipart")
	t.putRequests = t.gateway(Counter, "put_requests_total",
		"Requests of the operation put_obj past authorisation: plain PUTs, parts, and both failed. It counts what RGW's own put counter counts",
		rgwPer, rgwLog+", put_obj other than 401 and 403")
	t.ownPuts = t.gateway(Counter, "own_puts_total",
		"RGW's own put counter, which counts parts as puts and starts over with the gateway. Increase of this minus that of cephrisk_rgw_put_requests_total is what the ops log lost",
		rgwPer, "admin socket `perf dump`, rgw.put (16 to 18), rgw_op.put_obj_ops (19 and newer)")
}

func (t *rgwTable) addReading() {
	t.enabled = t.gateway(Gauge, "ops_log_enabled",
		"1 when the gateway writes an ops log to a file or socket, 0 when it does not (docs/rgw.md says how to enable it); absent where its admin socket cannot be asked",
		rgwPer, "admin socket `config show`")
	t.records = t.gateway(Counter, "ops_log_records_total", "Requests read from the ops log, of any operation", rgwPer, rgwLog)
	t.foreign = t.gateway(Counter, "ops_log_foreign_objects_total", "JSON objects in log files that are no ops log records", rgwPer, rgwLog)
	t.lastRecord = t.gateway(Gauge, "ops_log_last_record_timestamp_seconds", "End of the latest request that was read", rgwPer, rgwLog+", time and total_time")
	t.junkBytes = t.gateway(Counter, "ops_log_junk_bytes_total", "Bytes in log files that are part of no JSON object", rgwPer, rgwLog)
	t.junkRuns = t.gateway(Counter, "ops_log_junk_runs_total", "Uninterrupted runs of such bytes: torn records, mostly", rgwPer, rgwLog)
	t.oversized = t.gateway(Counter, "ops_log_oversized_records_total", "Records of more than 4 MiB, which are skipped", rgwPer, rgwLog)
	t.lag = t.gateway(Gauge, "ops_log_lag_bytes", "Bytes on disk that were not read as of the last checkpoint", rgwPer, "log files")
	t.files = t.gateway(Gauge, "ops_log_files", "Log files being followed, rotated ones included as long as they are held open", rgwPer, "log files")
}

func (t *rgwTable) addView() {
	add := func(kind Kind, name, help, per, source string, labels ...string) *Row {
		return t.Add(Row{Name: "cephrisk_rgw_" + name, Help: help, Kind: kind, Cardinality: per, Source: source, Labels: labels})
	}
	t.size = add(Histogram, "upload_size_bytes", "Size of completed uploads. Multiparts only where all gateways' logs are seen", "one histogram per kind", rgwLog+", object_size", "kind")
	t.duration = add(Histogram, "upload_duration_seconds",
		"Time an upload took: the request, or for a multipart from the start of its initiation to the end of its completion, and only where all gateways' logs are seen", "one histogram per kind", rgwLog+", time and total_time", "kind")
	t.viewComplete = add(Gauge, "multipart_view_complete",
		"1 when the logs of all gateways that clients reach are seen, so that parts and completions find each other; 0 when they are not, and what needs it is absent (--rgw.view)", "one", rgwBook)
	t.open = add(Gauge, "multipart_open", "Multipart uploads initiated and neither completed nor aborted", "one, with a complete view", rgwBook)
	t.abandoned = add(Gauge, "multipart_abandoned", "Open multipart uploads older than --rgw.abandoned-after: their parts take space until someone aborts them", "one, with a complete view", rgwBook)
	t.oldest = add(Gauge, "multipart_oldest_open_timestamp_seconds", "Instant at which the oldest open multipart upload was initiated; absent when none is open", "one, with a complete view", rgwBook)
	t.forgotten = add(Counter, "multipart_forgotten_total",
		"Open multipart uploads no longer tracked: age for --rgw.forget-after (a lifecycle rule has aborted them, most likely), limit for a full table", "two", rgwBook, "reason")
	t.overrun = add(Counter, "multipart_finished_forgotten_total",
		"Finished multipart uploads no longer remembered because the table of 262144 is full: a completion repeated after that counts again", "one", rgwBook)
	t.gaps = add(Counter, "ops_log_gaps_total",
		"Times that records may have been missed: truncated is a log cut off without a copy, vanished one that was gone when the exporter came back", "two", "log files", "reason")
}

func (t *rgwTable) addStreams() {
	add := func(kind Kind, name, help string) *Row {
		return t.Add(Row{Name: "cephrisk_rgw_stream_" + name, Help: help, Kind: kind, Cardinality: "one, with --rgw.ops-log-socket or --rgw.listen-address", Source: "sockets and senders"})
	}
	t.streamSenders = add(Gauge, "senders", "Sockets and senders connected at the last checkpoint")
	t.streamRefused = add(Counter, "refused_total", "Connections and requests refused because too many were being served")
	t.streamJunk = add(Counter, "junk_bytes_total", "Bytes in streams that are part of no JSON object")
	t.streamForeign = add(Counter, "foreign_objects_total", "JSON objects in streams that are no ops log records")
	t.streamDuplicates = add(Counter, "duplicate_records_total", "Records that had been sent before, known by their trans_id, and were not counted again")
	t.streamUnnamed = add(Counter, "unnamed_records_total", "Records whose gateway neither sender nor record named; they count as ceph_daemon=\"unknown\"")
}

func (t *rgwTable) addTallies() {
	add := func(name, help, per string, labels ...string) *Row {
		return t.Add(Row{Name: "cephrisk_rgw_" + name, Help: help, Kind: Counter, Cardinality: per, Source: rgwLog + ", bucket or user", Labels: labels})
	}
	const buckets, users = "one per bucket up to --rgw.label-limit, and kind; by flag", "one per user up to --rgw.label-limit, and kind; by flag"
	t.bucketUploads = add("bucket_uploads_completed_total", "Uploads completed by bucket (tenant/bucket where there is a tenant); other is all buckets beyond the limit", buckets, "bucket", "kind")
	t.bucketBytes = add("bucket_uploaded_bytes_total", "Bytes of completed uploads by bucket", buckets, "bucket")
	t.userUploads = add("user_uploads_completed_total", "Uploads completed by user; other is all users beyond the limit, and anonymous ones", users, "user", "kind")
	t.userBytes = add("user_uploaded_bytes_total", "Bytes of completed uploads by user", users, "user")
}
