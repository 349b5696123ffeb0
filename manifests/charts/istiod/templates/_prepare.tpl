{{- /* Every template includes this first. */ -}}
{{- define "istio.prepare" -}}
{{- if not (.Files.Get "files/complete.gen.txt") -}}
  {{- fail "the chart is incomplete: run `npm run manifests` in the repository that it is from" -}}
{{- end -}}
{{- include "istio.mergeValues" . -}}
{{- include "istiod.checkTexts" . -}}
{{- end -}}
