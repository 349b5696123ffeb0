{{- define "istiod.suffix" -}}
{{- with .Values.revision -}}-{{ . }}{{- end -}}
{{- end -}}

{{- define "istiod.name" -}}
istiod{{ include "istiod.suffix" . }}
{{- end -}}

{{- /* Not empty if istiod runs in this cluster. */ -}}
{{- define "istiod.runsHere" -}}
{{- if or (not .Values.istiodRemote.enabled) .Values.istiodRemote.enabledLocalInjectorIstiod -}}true{{- end -}}
{{- end -}}

{{- /* Not empty if an istiod, here or elsewhere, reads the configuration of this cluster and writes to it. */ -}}
{{- define "istiod.configuredHere" -}}
{{- if or (include "istiod.runsHere" .) .Values.global.configCluster -}}true{{- end -}}
{{- end -}}

{{- define "istiod.clusterScope" -}}
{{- if ne .Values.global.resourceScope "namespace" -}}true{{- end -}}
{{- end -}}

{{- define "istiod.namespaceScope" -}}
{{- if ne .Values.global.resourceScope "cluster" -}}true{{- end -}}
{{- end -}}

{{- define "istiod.accountLabels" -}}
app: istiod
release: {{ .Release.Name }}
app.kubernetes.io/name: istiod
{{ include "istio.labels" . }}
{{- end -}}

{{- define "istiod.readerLabels" -}}
app: istio-reader
release: {{ .Release.Name }}
app.kubernetes.io/name: istio-reader
{{ include "istio.labels" . }}
{{- end -}}

{{- define "istiod.configLabels" -}}
istio.io/rev: {{ .Values.revision | default "default" | quote }}
install.operator.istio.io/owning-resource: {{ .Values.ownerName | default "unknown" }}
operator.istio.io/component: Pilot
release: {{ .Release.Name }}
app.kubernetes.io/name: istiod
{{ include "istio.labels" . }}
{{- end -}}

{{- /* Labels that select the Pods of this revision. They cannot change after the installation. */ -}}
{{- define "istiod.podSelector" -}}
{{- if .Values.revision -}}
app: istiod
istio.io/rev: {{ .Values.revision | quote }}
{{- else -}}
istio: pilot
{{- end -}}
{{- end -}}

{{- /* Resource requirements without absent values, with which users remove a default. */ -}}
{{- define "istiod.resources" -}}
{{- $result := dict -}}
{{- range $kind, $amounts := . -}}
  {{- $present := dict -}}
  {{- range $name, $amount := ($amounts | default dict) -}}
    {{- if $amount -}}{{- $_ := set $present $name $amount -}}{{- end -}}
  {{- end -}}
  {{- if $present -}}{{- $_ := set $result $kind $present -}}{{- end -}}
{{- end -}}
{{- toYaml $result -}}
{{- end -}}
