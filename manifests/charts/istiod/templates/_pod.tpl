{{- define "istiod.image" -}}
{{- if contains "/" .Values.image -}}
{{ .Values.image }}
{{- else -}}
{{ .Values.hub | default .Values.global.hub }}/{{ .Values.image | default "pilot" }}:{{ .Values.tag | default .Values.global.tag }}
{{- with (.Values.variant | default .Values.global.variant) }}-{{ . }}{{ end }}
{{- end -}}
{{- end -}}

{{- define "istiod.arguments" -}}
- discovery
- --monitoringAddr=:15014
{{- with .Values.global.logging.level }}
- --log_output_level={{ . }}
{{- end }}
- --log_as_json={{ .Values.global.logAsJson }}
- --domain
- {{ .Values.global.proxy.clusterDomain }}
{{- with .Values.taint.namespace }}
- --cniNamespace={{ . }}
{{- end }}
- --keepaliveMaxServerConnectionAge
- {{ .Values.keepaliveMaxServerConnectionAge | quote }}
{{- with .Values.extraContainerArgs }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "istiod.scheduling" -}}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
affinity:
  {{- if .Values.affinity }}
  {{- toYaml .Values.affinity | nindent 2 }}
  {{- else }}
  podAntiAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 100
        podAffinityTerm:
          topologyKey: kubernetes.io/hostname
          labelSelector:
            matchLabels:
              {{- include "istiod.podSelector" . | nindent 14 }}
  {{- end }}
topologySpreadConstraints:
  {{- if .Values.topologySpreadConstraints }}
  {{- toYaml .Values.topologySpreadConstraints | nindent 2 }}
  {{- else }}
  - topologyKey: topology.kubernetes.io/zone
    maxSkew: 1
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "istiod.podSelector" . | nindent 8 }}
  {{- end }}
tolerations:
  # Proxies on a new node may need istiod before the CNI plugin is ready there.
  - { key: cni.istio.io/not-ready, operator: Exists }
  {{- with .Values.tolerations }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with .Values.global.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- end -}}

{{- define "istiod.environment" -}}
{{- $env := .Values.env | default dict -}}
{{- $variables := list
  (list "REVISION" (.Values.revision | default "default"))
  (list "PILOT_CERT_PROVIDER" .Values.global.pilotCertProvider)
  (list "KUBECONFIG" "/var/run/secrets/remote/config")
  (list "CA_TRUSTED_NODE_ACCOUNTS" (printf "%s/%s" (.Values.trustedZtunnelNamespace | default .Release.Namespace) (.Values.trustedZtunnelName | default "ztunnel")))
  (list "CLUSTER_ID" (.Values.global.multiCluster.clusterName | default "Kubernetes"))
  (list "PLATFORM" (coalesce .Values.global.platform .Values.platform | default ""))
-}}
{{- /* Unset, findings are logged. The value false would turn the analysis off, which env.PILOT_ENABLE_ANALYSIS does. */ -}}
{{- if .Values.global.istiod.enableAnalysis }}{{ $variables = append $variables (list "PILOT_ENABLE_ANALYSIS" "true") }}{{ end -}}
{{- with .Values.traceSampling }}{{ $variables = append $variables (list "PILOT_TRACE_SAMPLING" .) }}{{ end -}}
{{- if .Values.taint.enabled -}}
  {{- $variables = append $variables (list "PILOT_ENABLE_NODE_UNTAINT_CONTROLLERS" "true") -}}
  {{- $variables = append $variables (list "PILOT_NODE_UNTAINT_CONTROLLERS_TAINT_NAME" .Values.taint.name) -}}
{{- end -}}
{{- if .Values.global.externalIstiod }}{{ $variables = append $variables (list "EXTERNAL_ISTIOD" "true") }}{{ end -}}
{{- with .Values.global.trustBundleName }}{{ $variables = append $variables (list "PILOT_CA_CERT_CONFIGMAP" .) }}{{ end -}}
{{- with .Values.crlConfigMapName }}{{ $variables = append $variables (list "PILOT_CRL_CONFIGMAP" .) }}{{ end -}}
- name: POD_NAME
  valueFrom: { fieldRef: { apiVersion: v1, fieldPath: metadata.name } }
- name: POD_NAMESPACE
  valueFrom: { fieldRef: { apiVersion: v1, fieldPath: metadata.namespace } }
- name: SERVICE_ACCOUNT
  valueFrom: { fieldRef: { apiVersion: v1, fieldPath: spec.serviceAccountName } }
{{- range $variables }}
{{- if not (hasKey $env (first .)) }}
- name: {{ first . }}
  value: {{ last . | toString | quote }}
{{- end }}
{{- end }}
{{- range $name, $value := $env }}
- name: {{ $name }}
  value: {{ $value | toString | quote }}
{{- end }}
{{- with .Values.envVarFrom }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "istiod.volumeMounts" -}}
- { name: istio-token, mountPath: /var/run/secrets/tokens, readOnly: true }
- { name: local-certs, mountPath: /var/run/secrets/istio-dns }
- { name: cacerts, mountPath: /etc/cacerts, readOnly: true }
- { name: istio-kubeconfig, mountPath: /var/run/secrets/remote, readOnly: true }
- { name: istio-csr-dns-cert, mountPath: /var/run/secrets/istiod/tls, readOnly: true }
- { name: istio-csr-ca-configmap, mountPath: /var/run/secrets/istiod/ca, readOnly: true }
{{- if .Values.jwksResolverExtraRootCA }}
- { name: extracacerts, mountPath: /cacerts }
{{- end }}
{{- with .Values.volumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "istiod.volumes" -}}
- name: local-certs
  emptyDir: { medium: Memory }
- name: istio-token
  projected:
    sources:
      - serviceAccountToken:
          audience: {{ .Values.global.sds.token.aud }}
          expirationSeconds: 43200
          path: istio-token
# A root of your own.
- name: cacerts
  secret: { secretName: cacerts, optional: true }
# For an istiod that manages another cluster.
- name: istio-kubeconfig
  secret: { secretName: istio-kubeconfig, optional: true }
# Certificates of cert-manager's istio-csr.
- name: istio-csr-dns-cert
  secret: { secretName: istiod-tls, optional: true }
- name: istio-csr-ca-configmap
{{- if eq (toString (.Values.env).ENABLE_CLUSTER_TRUST_BUNDLE_API) "true" }}
  projected:
    sources:
      - clusterTrustBundle:
          name: istio.io:istiod-ca:{{ .Values.global.trustBundleName | default "root-cert" }}
          path: root-cert.pem
          optional: true
{{- else }}
  configMap:
    name: {{ .Values.global.trustBundleName | default "istio-ca-root-cert" }}
    defaultMode: 420
    optional: true
{{- end }}
{{- if .Values.jwksResolverExtraRootCA }}
- name: extracacerts
  configMap: { name: pilot-jwks-extra-cacerts{{ include "istiod.suffix" . }} }
{{- end }}
{{- with .Values.volumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}
