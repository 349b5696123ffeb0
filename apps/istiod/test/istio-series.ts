/** A series that Istio's istiod exposes: its type and the names of its labels, without those that a scraper adds. */
export interface Series {
  readonly name: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly labels?: readonly string[];
}

const series = (type: Series["type"], names: string, ...labels: string[]): Series[] =>
  names.split(" ").map((name) => ({ name, type, ...(labels.length > 0 && { labels }) }));

/**
 * Series of istiod that the queries of Istio's published control-plane dashboard need. Its other queries ask the
 * container (`container_*`) and Envoy (`envoy_cluster_upstream_cx_active`). Left out, as injection is served with a cluster only:
 * `sidecar_injection_success_total`, `sidecar_injection_failure_total`.
 */
export const dashboardSeries: readonly Series[] = [
  ...series("gauge", "istio_build", "component", "tag"),
  ...series(
    "gauge",
    "go_memstats_stack_inuse_bytes go_memstats_heap_inuse_bytes go_memstats_heap_alloc_bytes go_goroutines",
  ),
  // The performance dashboard asks for these, and for those of the process below.
  ...series("gauge", "go_memstats_alloc_bytes go_memstats_heap_sys_bytes"),
  ...series("counter", "go_memstats_alloc_bytes_total go_memstats_mallocs_total"),
  ...series("counter", "pilot_xds_pushes pilot_push_triggers pilot_total_xds_rejects", "type"),
  ...series("counter", "pilot_k8s_reg_events pilot_k8s_cfg_events", "event", "type"),
  ...series("gauge", "pilot_xds", "version"),
  ...series("counter", "pilot_total_xds_internal_errors"),
  ...series("histogram", "pilot_xds_push_time pilot_xds_config_size_bytes", "type"),
  ...series("counter", "galley_validation_passed", "group", "resource", "version"),
  ...series("counter", "galley_validation_failed", "group", "reason", "resource", "version"),
];

/** The others that are named in the reference of its metrics and mean something here. */
export const otherSeries: readonly Series[] = [
  ...series("counter", "process_cpu_seconds_total"),
  ...series(
    "gauge",
    "process_resident_memory_bytes process_virtual_memory_bytes process_open_fds process_max_fds process_start_time_seconds",
  ),
  ...series(
    "histogram",
    "pilot_xds_send_time pilot_proxy_convergence_time pilot_proxy_queue_time pilot_debounce_time pilot_pushcontext_init_seconds",
  ),
  ...series("counter", "pilot_xds_expired_nonce pilot_inbound_updates xds_cache_reads xds_cache_evictions", "type"),
  ...series("counter", "pilot_xds_write_timeout pilot_sds_certificate_errors_total pilot_k8s_endpoints_with_no_pods"),
  ...series("counter", "pilot_total_rejected_configs", "name", "type"),
  ...series("gauge", "pilot_xds_rds_reject", "err", "node"),
  ...series(
    "gauge",
    "pilot_xds_recv_max xds_cache_size xds_cache_dependent_config_size pilot_services pilot_virt_services pilot_vservice_dup_domain pilot_destrule_subsets pilot_no_ip",
  ),
  ...series(
    "gauge",
    "pilot_endpoint_not_ready pilot_eds_no_instances pilot_conflict_inbound_listener pilot_conflict_outbound_listener_tcp_over_current_tcp pilot_duplicate_envoy_clusters",
  ),
  ...series(
    "gauge",
    "pilot_dns_cluster_without_endpoints endpoint_no_pod pilot_k8s_endpoints_pending_pod istiod_uptime_seconds",
  ),
  ...series("histogram", "pilot_worker_queue_latency pilot_worker_queue_duration", "queueID"),
  ...series("gauge", "pilot_worker_queue_depth", "queueID"),
  ...series("counter", "pilot_jwks_resolver_network_fetch_success_total pilot_jwks_resolver_network_fetch_fail_total"),
  ...series("gauge", "pilot_info", "version"),
  ...series("gauge", "istiod_managed_clusters", "cluster_type"),
  ...series("gauge", "istiod_remote_cluster_sync_status", "cluster", "cluster_type", "status"),
  ...series(
    "counter",
    "citadel_server_csr_count citadel_server_authentication_failure_count citadel_server_csr_parsing_err_count citadel_server_success_cert_issuance_count",
  ),
  ...series(
    "gauge",
    "citadel_server_root_cert_expiry_timestamp citadel_server_root_cert_expiry_seconds citadel_server_cert_chain_expiry_timestamp citadel_server_cert_chain_expiry_seconds",
  ),
];

/** Registered, but without a sample before something of the kind happens. */
export const silentSeries: readonly Series[] = [
  ...series("counter", "pilot_k8s_proxies_with_no_service_targets", "reason"),
  ...series("gauge", "pilot_xds_cds_reject pilot_xds_eds_reject pilot_xds_lds_reject", "err", "node"),
  ...series("counter", "citadel_server_csr_sign_err_count", "error"),
  ...series("counter", "remote_cluster_sync_timeouts_total", "cluster"),
  ...series("gauge", "pilot_envoy_filter_status", "name", "patch", "result"),
];

/** Series of an istiod that reads a cluster and whose webhooks have answered: all that Istio's webhooks and their controllers have. */
export const webhookSeries: readonly Series[] = [
  ...series(
    "counter",
    "sidecar_injection_requests_total sidecar_injection_success_total sidecar_injection_failure_total",
  ),
  ...series("counter", "sidecar_injection_skip_total"),
  ...series("histogram", "sidecar_injection_time_seconds"),
  ...series("counter", "galley_validation_passed", "group", "resource", "version"),
  ...series("counter", "galley_validation_failed", "group", "reason", "resource", "version"),
  ...series("counter", "galley_validation_http_error", "status"),
  ...series("counter", "galley_validation_config_updates"),
  ...series("counter", "galley_validation_config_update_error galley_validation_config_load_error", "reason"),
  ...series("counter", "webhook_patch_attempts_total webhook_patch_retries_total", "name"),
  ...series("counter", "webhook_patch_failures_total", "name", "reason"),
];

/** Named there, and left out here because what they count does not exist: they must not be there as zeros. */
export const absentSeries: readonly string[] = [
  "sidecar_injection_requests_total",
  "sidecar_injection_success_total",
  "sidecar_injection_failure_total",
  "sidecar_injection_skip_total",
  "sidecar_injection_time_seconds",
  "galley_validation_http_error",
  "galley_validation_config_load_error",
  "galley_validation_config_updates",
  "galley_validation_config_update_error",
  "webhook_patch_attempts_total",
  "webhook_patch_failures_total",
  "webhook_patch_retries_total",
  "remote_cluster_secret_events_total",
  "controller_sync_errors_total",
  "auto_registration_success_total",
  "auto_registration_updates_total",
  "auto_registration_unregister_total",
  "auto_registration_deletes_total",
  "auto_registration_errors_total",
  "citadel_server_id_extraction_err_count",
  "provider_lookup_cluster_failures",
];
