{{- /* Rejects values that cannot work. */ -}}
{{- define "istiod.check" -}}
{{- $scope := .Values.global.resourceScope -}}
{{- if not (has $scope (list "all" "cluster" "namespace")) -}}
  {{- fail (printf "global.resourceScope is %q: must be all, cluster or namespace" (toString $scope)) -}}
{{- end -}}
{{- if eq .Values.global.pilotCertProvider "kubernetes" -}}
  {{- fail "global.pilotCertProvider is \"kubernetes\": Kubernetes no longer signs such certificates; use istiod, custom or k8s.io/<signer>" -}}
{{- end -}}
{{- if and .Values.istiodRemote.injectionURL (not .Values.istiodRemote.enabled) -}}
  {{- fail "istiodRemote.injectionURL is set: requires istiodRemote.enabled" -}}
{{- end -}}
{{- if and (hasPrefix "k8s.io/" .Values.global.pilotCertProvider) (not .Values.global.certSigners) -}}
  {{- fail "global.pilotCertProvider is a signer of Kubernetes: global.certSigners must name it" -}}
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
