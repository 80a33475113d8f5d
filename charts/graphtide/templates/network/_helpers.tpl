{{/* A NetworkPolicy of a component, beside the one that denies everything: root, component (its name), and

  ingress   rules for what comes
  flows     where it goes: some of kafka, redis, telemetry, oidc, kubernetesApi, objectStore, alertTargets
  egress    further rules
  annotations   of the policy
*/}}
{{- define "graphtide.networkPolicy" -}}
{{- $values := .root.Values -}}
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  {{- include "graphtide.metadata" (dict "root" .root "component" .component) | nindent 2 }}
  {{- with .annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  podSelector:
    matchLabels:
      {{- include "graphtide.selector" (dict "root" .root "component" .component) | nindent 6 }}
  policyTypes: [Ingress, Egress]
  {{- with .ingress }}
  ingress:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  egress:
    - ports:
        {{- range $port := $values.networkPolicy.dnsPorts }}
        - {protocol: UDP, port: {{ $port }}}
        - {protocol: TCP, port: {{ $port }}}
        {{- end }}
      {{- with $values.networkPolicy.dns }}
      to:
        {{- toYaml . | nindent 8 }}
      {{- end }}
    {{- range $flow := .flows }}
    {{- $ports := (include "graphtide.networkPolicy.ports" (dict "root" $.root "flow" $flow) | fromJson).ports }}
    {{- if $ports }}
    - ports:
        {{- range $port := $ports }}
        - {protocol: TCP, port: {{ $port }}}
        {{- end }}
      {{- with get $values.networkPolicy $flow }}
      to:
        {{- toYaml . | nindent 8 }}
      {{- end }}
    {{- end }}
    {{- end }}
    {{- with .egress }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}

{{/* Ports of a flow, as JSON; none for an unknown flow: root, flow. */}}
{{- define "graphtide.networkPolicy.ports" -}}
{{- $values := .root.Values -}}
{{- $ports := list -}}
{{- if eq .flow "kafka" -}}
  {{- range $broker := splitList "," $values.kafka.bootstrap -}}
    {{- $ports = append $ports (regexFind "[0-9]+$" (trim $broker) | int) -}}
  {{- end -}}
  {{- range $port := $values.networkPolicy.kafkaPorts -}}{{- $ports = append $ports (int $port) -}}{{- end -}}
{{- else if eq .flow "redis" -}}
  {{- if ne $values.redis.mode "cluster" -}}{{- $ports = list (int $values.redis.port) -}}{{- end -}}
  {{- if ne $values.redis.mode "server" -}}
  {{- range $node := $values.redis.nodes -}}{{- $ports = append $ports (regexFind "[0-9]+$" $node | int) -}}{{- end -}}
  {{- end -}}
  {{- range $port := $values.networkPolicy.redisPorts -}}{{- $ports = append $ports (int $port) -}}{{- end -}}
{{- else if eq .flow "telemetry" -}}
  {{- $ports = include "graphtide.networkPolicy.portOf" $values.telemetry.otlpEndpoint | fromJsonArray -}}
{{- else if eq .flow "oidc" -}}
  {{- if $values.access.oidc.issuer -}}
    {{- $ports = include "graphtide.networkPolicy.portOf" $values.access.oidc.jwksUrl | fromJsonArray -}}
  {{- end -}}
{{- else if eq .flow "kubernetesApi" -}}
  {{- $ports = $values.networkPolicy.kubernetesApiPorts -}}
{{- else if eq .flow "objectStore" -}}
  {{- $ports = $values.networkPolicy.objectStorePorts -}}
{{- else if eq .flow "alertTargets" -}}
  {{- $ports = $values.networkPolicy.alertTargetPorts -}}
{{- end -}}
{{- dict "ports" (uniq $ports) | toJson -}}
{{- end }}

{{/* The port of a URL, as a JSON list; empty for none. */}}
{{- define "graphtide.networkPolicy.portOf" -}}
{{- if . -}}
{{- $url := urlParse . -}}
{{- $own := regexFind "[0-9]+$" (regexFind ":[0-9]+$" $url.host) -}}
{{- list (int (default (ternary "443" "80" (eq $url.scheme "https")) $own)) | toJson -}}
{{- else -}}
[]
{{- end -}}
{{- end }}

{{/* Who may read metrics, and nothing else, of a component: root, port; a JSON list of rules. */}}
{{- define "graphtide.networkPolicy.metrics" -}}
{{- if .root.Values.networkPolicy.monitoring -}}
{{- list (dict "from" .root.Values.networkPolicy.monitoring "ports" (list (dict "protocol" "TCP" "port" "http"))) | toJson -}}
{{- else -}}
[]
{{- end -}}
{{- end }}

{{/* Who may call an HTTP service: clients, readers of metrics, and the round trip of `helm test`; a JSON list of rules. */}}
{{- define "graphtide.networkPolicy.clients" -}}
{{- $ports := list (dict "protocol" "TCP" "port" "http") -}}
{{- if .root.Values.networkPolicy.clients -}}
{{- $from := concat .root.Values.networkPolicy.clients .root.Values.networkPolicy.monitoring -}}
{{- if .root.Values.roundTrip.enabled -}}
{{- $from = append $from (dict "podSelector" (dict "matchLabels" (include "graphtide.selector" (dict "root" .root "component" "round-trip") | fromYaml))) -}}
{{- end -}}
{{- list (dict "from" $from "ports" $ports) | toJson -}}
{{- else -}}
{{- list (dict "ports" $ports) | toJson -}}
{{- end -}}
{{- end }}
