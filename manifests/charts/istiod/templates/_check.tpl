{{- /* Rejects values that cannot work. */ -}}
{{- define "istiod.check" -}}
{{- $scope := .Values.global.resourceScope -}}
{{- if not (has $scope (list "all" "cluster" "namespace")) -}}
  {{- fail (printf "global.resourceScope is %q: must be all, cluster or namespace" (toString $scope)) -}}
{{- end -}}
{{- $external := toString (default "" (.Values.env).EXTERNAL_CA) -}}
{{- if not (has $external (list "" "ISTIOD_RA_KUBERNETES_API")) -}}
  {{- fail (printf "env.EXTERNAL_CA is %q: must be ISTIOD_RA_KUBERNETES_API" $external) -}}
{{- end -}}
{{- if and $external (not .Values.global.certSigners) -}}
  {{- fail "env.EXTERNAL_CA is set: requires global.certSigners, the signers for which istiod may approve requests" -}}
{{- end -}}
{{- $provider := toString .Values.global.pilotCertProvider -}}
{{- $signer := trimPrefix "k8s.io/" $provider -}}
{{- if not (or (eq $provider "istiod") (and (hasPrefix "k8s.io/" $provider) $signer)) -}}
  {{- fail (printf "global.pilotCertProvider is %q: must be istiod, or k8s.io/ and the name of a signer of the cluster" $provider) -}}
{{- end -}}
{{- if and (ne $provider "istiod") (not $external) -}}
  {{- fail (printf "global.pilotCertProvider is %q: requires env.EXTERNAL_CA=ISTIOD_RA_KUBERNETES_API" $provider) -}}
{{- end -}}
{{- /* Istiod approves the request for its own certificate. */ -}}
{{- if and (ne $provider "istiod") (not (or (has $signer .Values.global.certSigners) (has (printf "%s/*" (first (splitList "/" $signer))) .Values.global.certSigners))) -}}
  {{- fail (printf "global.pilotCertProvider is %q: requires the signer %s in global.certSigners" $provider $signer) -}}
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

{{- /* Rejects numbers in place of strings. */ -}}
{{- define "istiod.checkTexts" -}}
{{- range $name := list "tag" "revision" -}}
  {{- include "istiod.checkText" (list $name (index $.Values $name)) -}}
{{- end -}}
{{- range $name := list "hub" "tag" "network" "meshID" -}}
  {{- include "istiod.checkText" (list (print "global." $name) (index $.Values.global $name)) -}}
{{- end -}}
{{- include "istiod.checkText" (list "global.multiCluster.clusterName" (.Values.global.multiCluster).clusterName) -}}
{{- range $i, $tag := .Values.revisionTags -}}
  {{- include "istiod.checkText" (list (printf "revisionTags[%d]" $i) $tag) -}}
{{- end -}}
{{- end -}}

{{- /* Rejects numbers that are no longer what was written: YAML reads 1.30 as 1.3, and 20260101 as 2.0260101e+07. */ -}}
{{- define "istiod.checkText" -}}
{{- $path := first . -}}
{{- $value := last . -}}
{{- if and (kindIs "float64" $value) (regexMatch "[.e]" (toString $value)) -}}
  {{- fail (printf "%s is the number %s: must be a string; write it in quotes, such as %s: \"1.30\"" $path (toString $value) (last (splitList "." $path))) -}}
{{- end -}}
{{- end -}}
