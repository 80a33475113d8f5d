{{- define "graphtide.topics" -}}
{{- $own := .Values.topics -}}
name: topics
command: [graphtide-ingestion, make-topics]
prefix: GRAPHTIDE_INGESTION_
settings: {}
pods: {{ toJson $own.pods }}
resources: {{ toJson $own.resources }}
{{- end }}

{{/* Variables of the Job. */}}
{{- define "graphtide.topics.variables" -}}
{{ include "graphtide.kafka.settings" (dict "root" . "prefix" "GRAPHTIDE_INGESTION_") }}
GRAPHTIDE_INGESTION_PREFIX: {{ .Values.topicPrefix }}
{{- include "graphtide.settings" (dict "prefix" "GRAPHTIDE_INGESTION_" "settings" (pick (include "graphtide.ingestion.streams" . | fromYaml) "streams" "partitions" "retentionMs")) }}
{{- end }}
