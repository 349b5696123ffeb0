{{- define "gateway.name" -}}
{{- $release := ternary "istio-ingressgateway" .Release.Name (eq .Release.Name "RELEASE-NAME") -}}
{{ .Values.name | default $release }}
{{- end -}}

{{- define "gateway.account" -}}
{{ .Values.serviceAccount.name | default (ternary (include "gateway.name" .) "default" .Values.serviceAccount.create) }}
{{- end -}}

{{- /* Labels by which Gateways select the Pods. */ -}}
{{- define "gateway.selector" -}}
app: {{ .Values.labels.app | default (include "gateway.name" .) | quote }}
istio: {{ .Values.labels.istio | default (include "gateway.name" . | trimPrefix "istio-") | quote }}
{{- end -}}

{{- define "gateway.labels" -}}
app.kubernetes.io/name: {{ include "gateway.name" . }}
{{ include "istio.labels" . }}
{{ include "gateway.selector" . }}
{{- with omit .Values.labels "app" "istio" }}
{{- range $name, $value := . }}
{{ $name | quote }}: {{ $value | quote }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "gateway.metadata" -}}
name: {{ include "gateway.name" . }}
namespace: {{ .Release.Namespace | quote }}
labels:
  {{- include "gateway.labels" . | nindent 2 }}
{{- with .Values.annotations }}
annotations:
  {{- range $name, $value := . }}
  {{ $name | quote }}: {{ $value | quote }}
  {{- end }}
{{- end }}
{{- end -}}
