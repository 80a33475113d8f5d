{{- define "graphtide.statistics" -}}
{{- $own := .Values.statistics -}}
name: statistics
command: [graphtide-statistics]
prefix: GRAPHTIDE_STATISTICS_
port: {{ $own.port }}
worker: true
grace: {{ mul 2 (include "graphtide.workerEndSeconds" . | int) }}
settings: {{ toJson $own.settings }}
pods: {{ toJson $own.pods }}
resources: {{ toJson $own.resources }}
{{- end }}
