{{- /* The mesh configuration: what other values say, and meshConfig over it. */ -}}
{{- define "istiod.mesh" -}}
{{- $global := .Values.global -}}
{{- $config := dict "discoveryAddress" (printf "%s.%s.svc:15012" (include "istiod.discoveryService" .) .Release.Namespace) -}}
{{- with $global.meshID -}}{{- $_ := set $config "meshId" . -}}{{- end -}}
{{- with ($global.proxy.variant | default $global.variant) -}}
  {{- $_ := set $config "image" (dict "imageType" .) -}}
{{- end -}}
{{- $tracer := $global.proxy.tracer | default "none" -}}
{{- if ne $tracer "none" -}}
  {{- $addresses := dict "zipkin" (printf "zipkin.%s:9411" $global.istioNamespace) "datadog" "$(HOST_IP):8126" -}}
  {{- $given := deepCopy (dig $tracer dict ($global.tracer | default dict)) -}}
  {{- if eq $tracer "stackdriver" -}}
    {{- $limits := dict "debug" false "maxNumberOfAttributes" 200 "maxNumberOfAnnotations" 200 "maxNumberOfMessageEvents" 200 -}}
    {{- $_ := set $config "tracing" (dict $tracer $limits) -}}
  {{- else if has $tracer (list "zipkin" "datadog" "lightstep") -}}
    {{- if and (hasKey $addresses $tracer) (not $given.address) -}}
      {{- $_ := set $given "address" (index $addresses $tracer) -}}
    {{- end -}}
    {{- $_ := set $config "tracing" (dict $tracer $given) -}}
  {{- else -}}
    {{- fail (printf "global.proxy.tracer is %q: must be zipkin, datadog, lightstep, stackdriver or none" $tracer) -}}
  {{- end -}}
{{- end -}}
{{- $mesh := dict
  "trustDomain" "cluster.local"
  "rootNamespace" (.Values.meshConfig.rootNamespace | default $global.istioNamespace)
  "defaultConfig" $config
-}}
{{- $v2 := .Values.telemetry.v2 -}}
{{- if and .Values.telemetry.enabled $v2.enabled (not .Values.meshConfig.defaultProviders) -}}
  {{- $metrics := list -}}
  {{- $providers := dict -}}
  {{- if $v2.prometheus.enabled -}}{{- $metrics = append $metrics "prometheus" -}}{{- end -}}
  {{- if $v2.stackdriver.enabled -}}
    {{- $metrics = append $metrics "stackdriver" -}}
    {{- $_ := set $providers "accessLogging" (list "stackdriver") -}}
  {{- end -}}
  {{- if $metrics -}}
    {{- $_ := set $mesh "defaultProviders" (mergeOverwrite (dict "metrics" $metrics) $providers) -}}
  {{- end -}}
{{- end -}}
{{- toYaml (mergeOverwrite $mesh (deepCopy .Values.meshConfig)) -}}
{{- end -}}

{{- /* Service at which proxies of this cluster reach istiod. */ -}}
{{- define "istiod.discoveryService" -}}
{{- if not .Values.global.remotePilotAddress -}}
{{ include "istiod.name" . }}
{{- else if and .Values.istiodRemote.enabled .Values.istiodRemote.enabledLocalInjectorIstiod -}}
istiod-remote
{{- else -}}
istiod
{{- end -}}
{{- end -}}
