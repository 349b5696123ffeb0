{{- define "istiod.configurationRead" -}}
- apiGroups: [networking.istio.io]
  resources:
    - destinationrules
    - envoyfilters
    - gateways
    - proxyconfigs
    - serviceentries
    - sidecars
    - virtualservices
    - workloadentries
    - workloadgroups
  verbs: [get, list, watch]
- apiGroups: [security.istio.io]
  resources: [authorizationpolicies, peerauthentications, requestauthentications]
  verbs: [get, list, watch]
- apiGroups: [telemetry.istio.io]
  resources: [telemetries]
  verbs: [get, list, watch]
- apiGroups: [extensions.istio.io]
  resources: [wasmplugins, trafficextensions]
  verbs: [get, list, watch]
{{- end -}}

{{- define "istiod.multiClusterGroup" -}}
{{ (.Values.env).MCS_API_GROUP | default "multicluster.x-k8s.io" }}
{{- end -}}
