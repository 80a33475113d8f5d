{{- define "graphtide.planner" -}}
{{- $own := .Values.planner -}}
name: planner
command: [graphtide-planner]
prefix: GRAPHTIDE_PLANNER_
port: {{ $own.port }}
worker: true
{{- $scaling := include "graphtide.scaling" . | fromYaml }}
callsKubernetes: {{ ne $scaling.mode "off" }}
grace: {{ mul 2 (include "graphtide.workerEndSeconds" . | int) }}
settings:
  {{- $own.settings | toYaml | nindent 2 }}
  replicated: {{ gt (int $own.replicas) 1 }}
  shards: {{ include "graphtide.matchers.shards" . }}
  timeUnit: {{ .Values.streams.unit }}
nested:
  scaling:
    mode: {{ $scaling.mode | quote }}
    {{- if ne $scaling.mode "off" }}
    {{- $own.scaling.settings | toYaml | nindent 4 }}
    services: {{ toJson $scaling.services }}
    namespace: {{ .Release.Namespace }}
    lease: {{ include "graphtide.objectName" (dict "root" . "component" "planner") }}
    {{- end }}
pods: {{ toJson $own.pods }}
resources: {{ toJson $own.resources }}
{{- end }}

{{/* What scales matchers, for the planner: its mode, and the StatefulSets that it scales or follows. */}}
{{- define "graphtide.scaling" -}}
{{- $services := dict -}}
{{- $by := list -}}
{{- range $key := (include "graphtide.matchers" . | fromJson).keys -}}
{{- $matcher := include "graphtide.matcher" (dict "root" $ "key" $key) | fromYaml -}}
{{- range $each := list "hpa" "keda" "planner" -}}
{{- if (get $matcher.scaling $each).enabled -}}
{{- $by = append $by $each -}}
{{- $_ := set $services (printf "matcher_%s" $key) (dict
  "stateful_set" (include "graphtide.objectName" (dict "root" $ "component" $matcher.name))
  "least" $matcher.scaling.minShards
  "most" $matcher.scaling.maxShards) -}}
{{- end -}}
{{- end -}}
{{- end -}}
mode: {{ ternary (ternary (ternary "dry-run" "on" .Values.planner.scaling.dryRun) "follow" (has "planner" $by)) "off" (not (empty $by)) | quote }}
services: {{ toJson $services }}
by: {{ uniq $by | toJson }}
{{- end }}
