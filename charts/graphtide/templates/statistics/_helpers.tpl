{{- define "graphtide.statistics" -}}
{{- $own := .Values.statistics -}}
name: statistics
command: [graphtide-statistics]
prefix: GRAPHTIDE_STATISTICS_
port: {{ $own.port }}
worker: true
grace: {{ mul 2 (include "graphtide.workerEndSeconds" . | int) }}
settings:
  {{- $own.settings | toYaml | nindent 2 }}
  replicated: {{ gt (int $own.replicas) 1 }}
pods: {{ toJson $own.pods }}
resources: {{ toJson $own.resources }}
{{- end }}
