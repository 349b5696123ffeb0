{{- define "gateway.pod" -}}
serviceAccountName: {{ include "gateway.account" . }}
terminationGracePeriodSeconds: {{ .Values.terminationGracePeriodSeconds }}
securityContext:
  {{- if .Values.securityContext }}
  {{- toYaml .Values.securityContext | nindent 2 }}
  {{- else }}
  # Ports 80 and 443 without privileges.
  sysctls:
    - { name: net.ipv4.ip_unprivileged_port_start, value: "0" }
  {{- end }}
{{- range $field := list "imagePullSecrets" "volumes" "initContainers" "nodeSelector" "affinity" "tolerations" "topologySpreadConstraints" "dnsPolicy" "dnsConfig" "priorityClassName" }}
{{- with index $.Values $field }}
{{ toYaml (dict $field .) }}
{{- end }}
{{- end }}
containers:
  - name: istio-proxy
    # The webhook replaces it.
    image: auto
    {{- with .Values.imagePullPolicy }}
    imagePullPolicy: {{ . }}
    {{- end }}
    securityContext:
      {{- if .Values.containerSecurityContext }}
      {{- toYaml .Values.containerSecurityContext | nindent 6 }}
      {{- else }}
      capabilities: { drop: [ALL] }
      allowPrivilegeEscalation: false
      privileged: false
      readOnlyRootFilesystem: true
      runAsNonRoot: true
      {{- end }}
    {{- include "gateway.environment" . | nindent 4 }}
    ports:
      - { name: http-envoy-prom, containerPort: 15090, protocol: TCP }
    resources:
      {{- include "gateway.resources" .Values.resources | nindent 6 }}
    {{- range $field := list "volumeMounts" "readinessProbe" "lifecycle" }}
    {{- with index $.Values $field }}
    {{- toYaml (dict $field .) | nindent 4 }}
    {{- end }}
    {{- end }}
  {{- with .Values.additionalContainers }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{- define "gateway.environment" -}}
{{- $variables := list -}}
{{- with .Values.networkGateway -}}
{{- $variables = append $variables (dict "name" "ISTIO_META_REQUESTED_NETWORK_VIEW" "value" .) -}}
{{- end -}}
{{- range $name, $value := .Values.env -}}
{{- $variables = append $variables (dict "name" $name "value" (toString $value)) -}}
{{- end -}}
{{- $variables = concat $variables .Values.envVarFrom -}}
{{- if $variables -}}{{ toYaml (dict "env" $variables) }}{{- end -}}
{{- end -}}

{{- /* Resource requirements without absent values, with which users remove a default. */ -}}
{{- define "gateway.resources" -}}
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
