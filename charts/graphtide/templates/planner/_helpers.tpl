{{- define "graphtide.planner" -}}
{{- $own := .Values.planner -}}
name: planner
command: [graphtide-planner]
prefix: GRAPHTIDE_PLANNER_
port: {{ $own.port }}
worker: true
callsKubernetes: {{ ne "[]" (include "graphtide.scaledByPlanner" .) }}
grace: {{ include "graphtide.workerEndSeconds" . }}
settings:
  {{- $own.settings | toYaml | nindent 2 }}
  shards: {{ include "graphtide.matchers.shards" . }}
  timeUnit: {{ .Values.streams.unit }}
pods: {{ toJson $own.pods }}
resources: {{ toJson $own.resources }}
{{- end }}
