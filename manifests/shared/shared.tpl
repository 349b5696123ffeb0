{{- /* Generated from manifests/shared/shared.tpl into each chart. */ -}}

{{- /*
Merges the values, the last wins: defaults of the chart, profile, compatibility version, platform, the user's values.
Defaults are under one key of values.yaml, because Helm merges values.yaml and the user's values before templates see
them. Every template includes this; only the first time has an effect. `_original` keeps the user's values.
*/ -}}
{{- define "istio.mergeValues" -}}
{{- $values := .Values -}}
{{- if hasKey $values "_internal_defaults_do_not_set" -}}
  {{- if $values.defaults -}}
    {{- fail (printf "values below \"defaults\" have no effect: set them without this prefix: %s" (keys $values.defaults | sortAlpha | join ", ")) -}}
  {{- end -}}
  {{- $defaults := index $values "_internal_defaults_do_not_set" -}}
  {{- $_ := unset $values "_internal_defaults_do_not_set" -}}
  {{- $user := deepCopy $values -}}
  {{- $files := .Files -}}
  {{- $merged := deepCopy $defaults -}}
  {{- $selected := dict
    "profile" (coalesce $values.profile ($values.global).profile)
    "compatibilityVersion" $values.compatibilityVersion
    "platform" (coalesce $values.platform ($values.global).platform)
  -}}
  {{- $prefixes := dict "profile" "" "compatibilityVersion" "compatibility-version-" "platform" "platform-" -}}
  {{- $profile := dict -}}
  {{- range $kind := list "profile" "compatibilityVersion" "platform" -}}
    {{- $name := index $selected $kind -}}
    {{- if $name -}}
      {{- $text := $files.Get (printf "files/profile-%s%s.gen.yaml" (index $prefixes $kind) (toString $name)) -}}
      {{- if not $text -}}
        {{- fail (printf "%s is %q: there is no such %s" $kind (toString $name) $kind) -}}
      {{- end -}}
      {{- $profile = mustMergeOverwrite $profile (fromYaml $text) -}}
    {{- end -}}
  {{- end -}}
  {{- $given := deepCopy $user -}}
  {{- if eq .Chart.Name "istiod" -}}
    {{- /* Profiles and older values files have the values of istiod below `pilot`. */ -}}
    {{- $profile = mustMergeOverwrite $profile (deepCopy ($profile.pilot | default dict)) -}}
    {{- $given = mustMergeOverwrite $given (deepCopy ($given.pilot | default dict)) -}}
  {{- end -}}
  {{- if eq .Chart.Name "gateway" -}}
    {{- /* As a part of another chart, the gateway has its values below `global`, too. */ -}}
    {{- $profile = mustMergeOverwrite (deepCopy ($profile.global | default dict)) $profile -}}
    {{- $given = mustMergeOverwrite (deepCopy ($given.global | default dict)) $given -}}
  {{- end -}}
  {{- $merged = mustMergeOverwrite $merged $profile $given -}}
  {{- range $key, $value := $merged -}}
    {{- $_ := set $values $key $value -}}
  {{- end -}}
  {{- $_ := set $values "_original" $user -}}
  {{- $_ := set $values "_known" (deepCopy $defaults) -}}
{{- end -}}
{{- end -}}

{{- /* Labels of all objects. */ -}}
{{- define "istio.labels" -}}
{{- with .Release.Service -}}
app.kubernetes.io/managed-by: {{ . | quote }}
{{ end -}}
{{- with .Release.Name -}}
app.kubernetes.io/instance: {{ . | quote }}
{{ end -}}
app.kubernetes.io/part-of: "istio"
{{- with .Chart.AppVersion }}
app.kubernetes.io/version: {{ . | quote }}
{{- end }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end -}}

{{- /*
failurePolicy of a validation webhook. istiod changes Ignore to Fail once the webhook answers, so an upgrade must not
contain the field.
*/ -}}
{{- define "istio.validationFailurePolicy" -}}
{{- if .Values.base.validationCABundle -}}
failurePolicy: Fail
{{- else if .Values.base.validationFailurePolicy -}}
failurePolicy: {{ .Values.base.validationFailurePolicy }}
{{- else if not .Release.IsUpgrade -}}
failurePolicy: Ignore
{{- end -}}
{{- end -}}

{{- /* Validations of the admission policies that reject kinds and fields which are not stable. */ -}}
{{- define "istio.stableValidations" -}}
variables:
  - name: kind
    expression: object.kind
validations:
  - expression: "!(variables.kind in ['EnvoyFilter', 'WasmPlugin', 'ProxyConfig'])"
    messageExpression: "variables.kind + ' is not stable'"
  - expression: >-
      variables.kind != 'Telemetry' || !has(object.spec.tracing) ||
      object.spec.tracing.all(t, !has(t.useRequestIdForTraceSampling))
    message: tracing.useRequestIdForTraceSampling is not stable
  - expression: >-
      variables.kind != 'Telemetry' || !has(object.spec.metrics) ||
      object.spec.metrics.all(m, !has(m.reportingInterval))
    message: metrics.reportingInterval is not stable
  - expression: >-
      variables.kind != 'Telemetry' || !has(object.spec.accessLogging) ||
      object.spec.accessLogging.all(l, !has(l.filter))
    message: accessLogging.filter is not stable
  - expression: >-
      variables.kind != 'AuthorizationPolicy' || !has(object.spec.rules) ||
      object.spec.rules.all(r, !has(r.from) || r.from.all(f, !has(f.source) ||
      (!has(f.source.trustDomains) && !has(f.source.notTrustDomains))))
    message: trustDomains and notTrustDomains of a source are not stable
{{- end -}}

{{- /*
A webhook that only warns of mistakes in objects of Kubernetes and of the Gateway API. It never rejects one: not by its
answer, and not by an error. Pods that another object creates are left out.
*/ -}}
{{- define "istio.warningWebhook" -}}
- name: {{ .name }}
  clientConfig:
    {{- if .Values.base.validationURL }}
    url: {{ printf "%s/warn" (trimSuffix "/validate" .Values.base.validationURL) | quote }}
    {{- else }}
    service:
      name: {{ .service }}
      namespace: {{ .Values.global.istioNamespace | quote }}
      path: /warn
    {{- end }}
    {{- with .Values.base.validationCABundle }}
    caBundle: {{ . | quote }}
    {{- end }}
  rules:
    - { apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [namespaces, pods, services] }
    - apiGroups: [apps]
      apiVersions: [v1]
      operations: [CREATE, UPDATE]
      resources: [daemonsets, deployments, statefulsets]
    - { apiGroups: [batch], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [cronjobs, jobs] }
    - { apiGroups: [networking.k8s.io], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [ingresses] }
    - apiGroups: [gateway.networking.k8s.io, inference.networking.k8s.io]
      apiVersions: ["*"]
      operations: [CREATE, UPDATE]
      resources: ["*"]
  failurePolicy: Ignore
  timeoutSeconds: 1
  sideEffects: None
  admissionReviewVersions: [v1]
  namespaceSelector:
    matchExpressions:
      - key: kubernetes.io/metadata.name
        operator: NotIn
        values: [kube-system, kube-public, kube-node-lease, local-path-storage]
      {{- with .revision }}
      - { key: istio.io/rev, operator: In, values: [{{ . | quote }}] }
      {{- end }}
  matchConditions:
    - name: has-no-owner
      expression: "request.kind.kind != 'Pod' || !has(object.metadata.ownerReferences)"
{{- end -}}

{{- /*
Warnings about values that the chart does not have, at any depth. Maps that are empty by default take any keys, as do the
maps named here. Values of Istio's other charts are accepted at the first two levels.
*/ -}}
{{- define "istio.unknownValues" -}}
{{- $known := deepCopy .Values._known -}}
{{- $selectors := list "profile" "compatibilityVersion" "platform" -}}
{{- range concat $selectors (list
  "pilot" "enabled" "cni" "ztunnel" "ambient" "gateways" "seLinuxOptions" "resourceQuotas" "defaultRevision"
  "terminationMessagePolicy" "trafficDistribution" "crlConfigMapName"
) -}}
  {{- if not (hasKey $known .) }}{{ $_ := set $known . dict }}{{ end -}}
{{- end -}}
{{- if eq .Chart.Name "istiod" -}}
  {{- range concat $selectors (list
    "tracer" "trustBundleName" "ipFamilyPolicy" "ipFamilies" "imagePullPolicy" "imagePullSecrets" "variant"
    "readerServiceAccount"
  ) -}}
    {{- if not (hasKey $known.global .) }}{{ $_ := set $known.global . dict }}{{ end -}}
  {{- end -}}
  {{- /* The CNI plugin and the gateways of Istio's installation have values below these keys, too. */ -}}
  {{- $_ := set $known "cni" dict -}}
  {{- $_ := set $known "gateways" dict -}}
{{- else -}}
  {{- /* Values that are common to several charts. */ -}}
  {{- $_ := set $known "global" dict -}}
{{- end -}}
{{- include "istio.unknownBelow" (dict "chart" .Chart.Name "known" $known "given" .Values._original "path" "") -}}
{{- if and (eq .Chart.Name "istiod") (kindIs "map" .Values._original.pilot) -}}
  {{- include "istio.unknownBelow" (dict "chart" .Chart.Name "known" $known "given" .Values._original.pilot "path" "pilot.") -}}
{{- end -}}
{{- end -}}

{{- /* Names keys of the resources of a container that Kubernetes does not have, and leaves out. */ -}}
{{- define "istio.resourceKeys" -}}
{{- if kindIs "map" .resources }}
{{- range $name, $_ := .resources }}
{{- if not (has $name (list "requests" "limits" "claims")) }}
WARNING: {{ $.path }}.{{ $name }} has no effect: resources are requests and limits.
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "istio.unknownBelow" -}}
{{- $open := list "meshConfig" "resources" "seccompProfile" "labels" "podAnnotations" "networkGatewayPorts" "pdb" -}}
{{- $optional := list "allocateLoadBalancerNodePorts" "loadBalancerClass" "validationFailurePolicy" "ingress" -}}
{{- range $name, $value := .given }}
{{- $path := print $.path $name }}
{{- $below := index $.known $name }}
{{- if and (not (hasKey $.known $name)) (not (has $name $optional)) }}
WARNING: {{ $path }} has no effect: the chart {{ $.chart }} has no such value.
{{- else if and (kindIs "map" $value) (kindIs "map" $below) (ne (len $below) 0) (not (has $name $open)) }}
{{- include "istio.unknownBelow" (dict "chart" $.chart "known" $below "given" $value "path" (print $path ".")) }}
{{- end }}
{{- end }}
{{- end -}}
