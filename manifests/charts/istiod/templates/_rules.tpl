{{- define "istiod.multiClusterGroup" -}}
{{ (.Values.env).MCS_API_GROUP | default "multicluster.x-k8s.io" }}
{{- end -}}
