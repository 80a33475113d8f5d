{{- define "graphtide.ingestion" -}}
{{- $own := .Values.ingestion -}}
name: ingestion
command: [graphtide-ingestion]
prefix: GRAPHTIDE_INGESTION_
port: {{ $own.port }}
access: true
drain: {{ $own.drainSeconds }}
grace: {{ add (int $own.drainSeconds) (include "graphtide.httpEndSeconds" . | int) }}
settings:
  {{- omit $own.settings "hosts" | toYaml | nindent 2 }}
  roles: [http]
  {{- include "graphtide.ingestion.streams" . | nindent 2 }}
  profile: {{ .Values.profile }}
  hosts: {{ concat $own.settings.hosts (compact (list (ternary $own.ingress.host "" $own.ingress.enabled))) (ternary $own.httpRoute.hostnames list $own.httpRoute.enabled) | uniq | toJson }}
service: {{ toJson $own.service }}
pods: {{ toJson $own.pods }}
resources: {{ toJson $own.resources }}
{{- end }}

{{/* What HTTP, sequencer and the Job of topics know of streams. */}}
{{- define "graphtide.ingestion.streams" -}}
streams: {{ include "graphtide.streams" . }}
createStreams: {{ .Values.streams.createdByEdges }}
partitions: {{ .Values.streams.partitions }}
retentionMs: {{ .Values.streams.retentionMs | toJson }}
unit: {{ .Values.streams.unit }}
{{- end }}

{{/* Streams of the deployment, that of `helm test` among them, as JSON. */}}
{{- define "graphtide.streams" -}}
{{- concat .Values.streams.names (ternary (list .Values.roundTrip.stream) list .Values.roundTrip.enabled) | uniq | toJson -}}
{{- end }}
