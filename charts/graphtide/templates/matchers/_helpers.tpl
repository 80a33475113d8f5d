{{/* A matcher service: root, key of its entry. */}}
{{- define "graphtide.matcher" -}}
{{- $own := mergeOverwrite (deepCopy .root.Values.matcherDefaults) (deepCopy (get .root.Values.matchers .key)) -}}
{{- $prefix := printf "GRAPHTIDE_MATCHER_%s_" (upper .key) -}}
name: matcher-{{ .key | replace "_" "-" }}
command: [graphtide-matcher-{{ .key | replace "_" "-" }}]
prefix: {{ $prefix }}
port: {{ $own.port }}
worker: true
redis: true
grace: {{ add (include "graphtide.workerEndSeconds" .root | int) (ceil $own.settings.lingerSeconds | int) }}
settings:
  {{- $own.settings | toYaml | nindent 2 }}
  profile: {{ .root.Values.profile }}
env:
  - name: {{ $prefix }}SHARD
    valueFrom: {fieldRef: {fieldPath: "metadata.labels['apps.kubernetes.io/pod-index']"}}
shards: {{ $own.shards }}
scaling: {{ toJson $own.scaling }}
podDisruptionBudget: {{ toJson $own.podDisruptionBudget }}
pods: {{ toJson $own.pods }}
resources: {{ toJson $own.resources }}
{{- end }}

{{/* The matcher services that there are, as a JSON list of the keys of their entries. */}}
{{- define "graphtide.matchers" -}}
{{- $keys := list -}}
{{- range $key, $own := .Values.matchers -}}
{{- if not (kindIs "invalid" $own) -}}{{- $keys = append $keys $key -}}{{- end -}}
{{- end -}}
{{- dict "keys" $keys | toJson -}}
{{- end }}

{{/* Shards of each matcher service, as the planner calls them, as JSON. */}}
{{- define "graphtide.matchers.shards" -}}
{{- $shards := dict -}}
{{- range $key := (include "graphtide.matchers" . | fromJson).keys -}}
{{- $_ := set $shards (printf "matcher_%s" $key) (include "graphtide.matcher" (dict "root" $ "key" $key) | fromYaml).shards -}}
{{- end -}}
{{- toJson $shards -}}
{{- end }}
