{{- /* Rejects values that cannot work. */ -}}
{{- define "istiod.check" -}}
{{- $scope := .Values.global.resourceScope -}}
{{- if not (has $scope (list "all" "cluster" "namespace")) -}}
  {{- fail (printf "global.resourceScope is %q: must be all, cluster or namespace" (toString $scope)) -}}
{{- end -}}
{{- if ne .Values.global.pilotCertProvider "istiod" -}}
  {{- fail (printf "global.pilotCertProvider is %q: only istiod is supported" (toString .Values.global.pilotCertProvider)) -}}
{{- end -}}
{{- if (.Values.env).EXTERNAL_CA -}}
  {{- fail "env.EXTERNAL_CA is set: certificates are not signed by an external authority; put an intermediate CA into the Secret cacerts instead" -}}
{{- end -}}
{{- if and .Values.istiodRemote.injectionURL (not .Values.istiodRemote.enabled) -}}
  {{- fail "istiodRemote.injectionURL is set: requires istiodRemote.enabled" -}}
{{- end -}}
{{- if and .Values.autoscaleEnabled (lt (int .Values.autoscaleMax) (int .Values.autoscaleMin)) -}}
  {{- fail (printf "autoscaleMax is %d: must not be below autoscaleMin, which is %d" (int .Values.autoscaleMax) (int .Values.autoscaleMin)) -}}
{{- end -}}
{{- range list "telemetry.v2.prometheus.configOverride" "telemetry.v2.stackdriver.configOverride" "telemetry.v2.stackdriver.disableOutbound" "telemetry.v2.stackdriver.outboundAccessLogging" "global.tracer.stackdriver.debug" "global.tracer.stackdriver.maxNumberOfAttributes" "global.tracer.stackdriver.maxNumberOfAnnotations" "global.tracer.stackdriver.maxNumberOfMessageEvents" -}}
  {{- if include "istiod.given" (dict "values" $.Values._original "path" .) -}}
    {{- fail (printf "%s was removed from Istio" .) -}}
  {{- end -}}
{{- end -}}
{{- end -}}

{{- /* Not empty if the values have something at a path such as `global.proxy.tracer`. */ -}}
{{- define "istiod.given" -}}
{{- $here := .values -}}
{{- $found := true -}}
{{- range splitList "." .path -}}
  {{- if and $found (kindIs "map" $here) (hasKey $here .) -}}
    {{- $here = index $here . -}}
  {{- else -}}
    {{- $found = false -}}
  {{- end -}}
{{- end -}}
{{- if $found -}}true{{- end -}}
{{- end -}}
