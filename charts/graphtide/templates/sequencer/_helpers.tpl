{{- define "graphtide.sequencer" -}}
{{- $own := .Values.sequencer -}}
name: sequencer
command: [graphtide-ingestion]
prefix: GRAPHTIDE_INGESTION_
port: {{ $own.port }}
access: true
grace: {{ include "graphtide.httpEndSeconds" . }}
settings:
  {{- $own.settings | toYaml | nindent 2 }}
  roles: [sequencer]
  replicated: {{ gt (int $own.replicas) 1 }}
  {{- include "graphtide.ingestion.streams" . | nindent 2 }}
  profile: {{ .Values.profile }}
pods: {{ toJson $own.pods }}
resources: {{ toJson $own.resources }}
{{- end }}
