{{- /*
Pods that are injected, by labels of the namespace and of the Pod. `this`: the label istio.io/rev names the revision.
*/ -}}
{{- define "istiod.injectionCases" -}}
- { prefix: rev.namespace., namespaceRevision: this, namespaceInjection: absent, podInjection: allowed }
- { prefix: rev.object., namespaceRevision: absent, namespaceInjection: absent, podInjection: allowed, podRevision: this }
{{- if .default }}
- { prefix: namespace., namespaceInjection: enabled, podInjection: allowed }
- { prefix: object., namespaceRevision: absent, namespaceInjection: absent, podInjection: demanded, podRevision: absent }
{{- end }}
{{- end -}}

{{- define "istiod.revisionSelector" -}}
{{- if eq .demand "this" }}
- { key: istio.io/rev, operator: In, values: [{{ .revision | quote }}] }
{{- else if eq .demand "absent" }}
- { key: istio.io/rev, operator: DoesNotExist }
{{- end }}
{{- end -}}

{{- define "istiod.injectionWebhook" -}}
{{- $case := .case -}}
- name: {{ $case.prefix }}sidecar-injector.istio.io
  clientConfig:
    {{- if .Values.istiodRemote.injectionURL }}
    url: {{ .Values.istiodRemote.injectionURL | quote }}
    {{- else }}
    service:
      name: {{ include "istiod.name" . }}
      namespace: {{ .Release.Namespace | quote }}
      path: {{ .Values.istiodRemote.injectionPath | quote }}
      port: 443
    {{- end }}
    {{- with .caBundle }}
    caBundle: {{ . | quote }}
    {{- end }}
  sideEffects: None
  rules:
    - { operations: [CREATE], apiGroups: [""], apiVersions: [v1], resources: [pods] }
  failurePolicy: Fail
  reinvocationPolicy: {{ .Values.sidecarInjectorWebhook.reinvocationPolicy }}
  admissionReviewVersions: [v1]
  namespaceSelector:
    matchExpressions:
      {{- include "istiod.revisionSelector" (dict "demand" ($case.namespaceRevision | default "") "revision" .revision) | nindent 6 }}
      {{- if eq $case.namespaceInjection "enabled" }}
      - { key: istio-injection, operator: In, values: [enabled] }
      {{- else }}
      - { key: istio-injection, operator: DoesNotExist }
      {{- end }}
      {{- if $case.exceptSystem }}
      - key: kubernetes.io/metadata.name
        operator: NotIn
        values: [kube-system, kube-public, kube-node-lease, local-path-storage]
      {{- end }}
  objectSelector:
    matchExpressions:
      {{- if eq $case.podInjection "demanded" }}
      - { key: sidecar.istio.io/inject, operator: In, values: ["true"] }
      {{- else if eq $case.podInjection "absent" }}
      - { key: sidecar.istio.io/inject, operator: DoesNotExist }
      {{- else }}
      - { key: sidecar.istio.io/inject, operator: NotIn, values: ["false"] }
      {{- end }}
      {{- include "istiod.revisionSelector" (dict "demand" ($case.podRevision | default "") "revision" .revision) | nindent 6 }}
{{- end -}}
