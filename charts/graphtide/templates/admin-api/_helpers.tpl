{{- define "graphtide.admin-api" -}}
{{- $own := .Values.adminApi -}}
name: admin-api
command: [graphtide-admin-api]
prefix: GRAPHTIDE_ADMIN_API_
port: {{ $own.port }}
access: true
redis: {{ include "graphtide.matchers" . | fromJson | dig "keys" list | empty | not }}
drain: {{ $own.drainSeconds }}
grace: {{ add (int $own.drainSeconds) (include "graphtide.httpEndSeconds" . | int) }}
settings:
  {{- omit $own.settings "hosts" | toYaml | nindent 2 }}
  unit: {{ .Values.streams.unit }}
  hosts: {{ concat $own.settings.hosts (compact (list (ternary $own.ingress.host "" $own.ingress.enabled))) (ternary $own.httpRoute.hostnames list $own.httpRoute.enabled) | uniq | toJson }}
service: {{ toJson $own.service }}
pods: {{ toJson $own.pods }}
resources: {{ toJson $own.resources }}
{{- end }}
