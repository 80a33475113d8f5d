{{/* What all components share. A component describes itself as YAML (`graphtide.<component>`), read back with fromYaml:

  name             in names and labels
  command          of its container
  prefix           of its variables of the environment
  port             of HTTP, health and figures
  access           whether it asks callers who they are
  worker           whether settings of health have a room of their own, as in services without HTTP of their own
  redis            whether it keeps checkpoints there
  spark            whether its image is that on Spark
  callsKubernetes  whether its pods have a token for the API
  grace            seconds that it may take to end
  drain            seconds for which requests still come to a pod that is told to end
  settings         of the service, by their names in values
  nested           settings of the service that have a room of their own
  service          of its values, where others than readers of figures call it
  env, volumes, mounts   its own, beside those of all
  scratchSize, pods, resources   as in values
*/}}

{{- define "graphtide.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end }}

{{- define "graphtide.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains (include "graphtide.name" .) .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "graphtide.name" .) | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end }}

{{/* Labels by which pods are found: root, component. */}}
{{- define "graphtide.selector" -}}
app.kubernetes.io/name: {{ include "graphtide.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{/* Labels of everything: root, component. */}}
{{- define "graphtide.labels" -}}
{{ include "graphtide.selector" . }}
app.kubernetes.io/part-of: graphtide
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name (.root.Chart.Version | replace "+" "_") }}
{{- end }}

{{/* Metadata of an object of a component: root, component, and the suffix of the name where it has one. */}}
{{- define "graphtide.metadata" -}}
name: {{ include "graphtide.fullname" .root }}-{{ .component }}{{ with .suffix }}-{{ . }}{{ end }}
namespace: {{ .root.Release.Namespace }}
labels:
  {{- include "graphtide.labels" . | nindent 2 }}
{{- end }}

{{- define "graphtide.image" -}}
{{- $image := ternary .root.Values.sparkImage .root.Values.image (default false .spark) -}}
{{- $image.repository }}:{{ default .root.Chart.AppVersion $image.tag }}{{ with $image.digest }}@{{ . }}{{ end -}}
{{- end }}

{{/* What the pods of a component say, over what all pods say: root, pods. */}}
{{- define "graphtide.pods" -}}
{{- mergeOverwrite (deepCopy .root.Values.pods) (default dict .pods) | toYaml -}}
{{- end }}

{{/* A value as a variable of the environment has it. */}}
{{- define "graphtide.value" -}}
{{- if kindIs "string" . }}{{ . | quote }}{{ else }}{{ . | toJson | quote }}{{ end -}}
{{- end }}

{{/* Settings as variables: prefix, settings. What is null is left to the service. */}}
{{- define "graphtide.settings" -}}
{{- $prefix := .prefix -}}
{{- range $name, $value := .settings }}
{{- if not (kindIs "invalid" $value) }}
{{ $prefix }}{{ $name | snakecase | upper }}: {{ include "graphtide.value" $value }}
{{- end }}
{{- end }}
{{- end }}

{{/* Variables that tell where Kafka is: root, prefix. */}}
{{- define "graphtide.kafka.settings" -}}
{{- $kafka := .root.Values.kafka -}}
{{ .prefix }}KAFKA__BOOTSTRAP: {{ $kafka.bootstrap | quote }}
{{ .prefix }}KAFKA__REPLICATION: {{ $kafka.replication | toJson | quote }}
{{- if $kafka.tls.enabled }}
{{ .prefix }}KAFKA__TLS: "true"
{{- if $kafka.tls.existingSecret }}
{{- with $kafka.tls.authoritiesKey }}
{{ $.prefix }}KAFKA__AUTHORITIES: /etc/graphtide/kafka/{{ . }}
{{- end }}
{{- with $kafka.tls.certificateKey }}
{{ $.prefix }}KAFKA__CERTIFICATE: /etc/graphtide/kafka/{{ . }}
{{- end }}
{{- with $kafka.tls.keyKey }}
{{ $.prefix }}KAFKA__KEY: /etc/graphtide/kafka/{{ . }}
{{- end }}
{{- end }}
{{- end }}
{{- if $kafka.sasl.enabled }}
{{ .prefix }}KAFKA__MECHANISM: {{ $kafka.sasl.mechanism }}
{{- with $kafka.sasl.username }}
{{ $.prefix }}KAFKA__USERNAME: {{ . | quote }}
{{- end }}
{{- end }}
{{- end }}

{{/* Variables out of Secrets, as a list: root, component. */}}
{{- define "graphtide.secrets" -}}
{{- $values := .root.Values -}}
{{- $prefix := .component.prefix -}}
{{- if $values.kafka.sasl.enabled }}
{{- if not $values.kafka.sasl.username }}
- name: {{ $prefix }}KAFKA__USERNAME
  valueFrom: {secretKeyRef: {name: {{ $values.kafka.sasl.existingSecret }}, key: {{ $values.kafka.sasl.usernameKey }}}}
{{- end }}
- name: {{ $prefix }}KAFKA__PASSWORD
  valueFrom: {secretKeyRef: {name: {{ $values.kafka.sasl.existingSecret }}, key: {{ $values.kafka.sasl.passwordKey }}}}
{{- end }}
{{- if and $values.kafka.tls.enabled $values.kafka.tls.keyPasswordKey }}
- name: {{ $prefix }}KAFKA__KEY_PASSWORD
  valueFrom: {secretKeyRef: {name: {{ $values.kafka.tls.existingSecret }}, key: {{ $values.kafka.tls.keyPasswordKey }}}}
{{- end }}
{{- if and .component.redis $values.redis.auth.existingSecret }}
{{- if and $values.redis.auth.usernameKey (not $values.redis.auth.username) }}
- name: {{ $prefix }}REDIS_USERNAME
  valueFrom: {secretKeyRef: {name: {{ $values.redis.auth.existingSecret }}, key: {{ $values.redis.auth.usernameKey }}}}
{{- end }}
- name: {{ $prefix }}REDIS_PASSWORD
  valueFrom: {secretKeyRef: {name: {{ $values.redis.auth.existingSecret }}, key: {{ $values.redis.auth.passwordKey }}}}
{{- end }}
{{- if and .component.access $values.access.existingSecret (not $values.access.insecure) }}
- name: {{ $prefix }}API_KEYS
  valueFrom: {secretKeyRef: {name: {{ $values.access.existingSecret }}, key: {{ $values.access.apiKeysKey }}}}
{{- if and $values.access.ticketSecretKey (eq .component.name "admin-api") }}
- name: {{ $prefix }}TICKET_SECRET
  valueFrom: {secretKeyRef: {name: {{ $values.access.existingSecret }}, key: {{ $values.access.ticketSecretKey }}}}
{{- end }}
{{- end }}
{{- end }}

{{/* Variables that tell who may call: root, prefix. */}}
{{- define "graphtide.access.settings" -}}
{{- $access := .root.Values.access -}}
{{- $prefix := .prefix -}}
{{ $prefix }}INSECURE: {{ $access.insecure | toJson | quote }}
{{- if $access.oidc.issuer }}
{{ $prefix }}OIDC__ISSUER: {{ $access.oidc.issuer | quote }}
{{ $prefix }}OIDC__AUDIENCE: {{ $access.oidc.audience | quote }}
{{ $prefix }}OIDC__JWKS_URL: {{ $access.oidc.jwksUrl | quote }}
{{ $prefix }}OIDC__CLAIM: {{ $access.oidc.claim | quote }}
{{- end }}
{{- end }}

{{/* Variables that tell where Redis is: root, prefix. */}}
{{- define "graphtide.redis.settings" -}}
{{- $redis := .root.Values.redis -}}
{{- $scheme := ternary "rediss" "redis" $redis.tls.enabled -}}
{{ .prefix }}REDIS: {{ printf "%s://%s:%d/%d" $scheme $redis.host (int $redis.port) (int $redis.database) }}
{{- with $redis.auth.username }}
{{ $.prefix }}REDIS_USERNAME: {{ . | quote }}
{{- end }}
{{- if and $redis.tls.enabled $redis.tls.existingSecret }}
{{- with $redis.tls.authoritiesKey }}
{{ $.prefix }}REDIS_AUTHORITIES: /etc/graphtide/redis/{{ . }}
{{- end }}
{{- with $redis.tls.certificateKey }}
{{ $.prefix }}REDIS_CERTIFICATE: /etc/graphtide/redis/{{ . }}
{{- end }}
{{- with $redis.tls.keyKey }}
{{ $.prefix }}REDIS_KEY: /etc/graphtide/redis/{{ . }}
{{- end }}
{{- end }}
{{- end }}

{{/* All variables of a component that are no secrets: root, component. */}}
{{- define "graphtide.variables" -}}
{{- $root := .root -}}
{{- $component := .component -}}
{{- $prefix := $component.prefix -}}
{{ include "graphtide.kafka.settings" (dict "root" $root "prefix" $prefix) }}
{{ $prefix }}PREFIX: {{ $root.Values.topicPrefix }}
{{- if $component.worker }}
{{ $prefix }}HEALTH__ENABLED: "true"
{{ $prefix }}HEALTH__HOST: {{ $root.Values.listen | quote }}
{{ $prefix }}HEALTH__PORT: {{ $component.port | toJson | quote }}
{{ $prefix }}HEALTH__STUCK_SECONDS: {{ $component.settings.stuckSeconds | toJson | quote }}
{{- else }}
{{ $prefix }}HOST: {{ $root.Values.listen | quote }}
{{ $prefix }}PORT: {{ $component.port | toJson | quote }}
{{ $prefix }}STUCK_SECONDS: {{ $component.settings.stuckSeconds | toJson | quote }}
{{- end }}
{{- if $component.access }}
{{ include "graphtide.access.settings" (dict "root" $root "prefix" $prefix) }}
{{- end }}
{{- if $component.redis }}
{{ include "graphtide.redis.settings" (dict "root" $root "prefix" $prefix) }}
{{- end }}
{{ $prefix }}TELEMETRY__TRACE_RATIO: {{ $root.Values.telemetry.traceRatio | toJson | quote }}
{{- with $root.Values.telemetry.otlpEndpoint }}
OTEL_EXPORTER_OTLP_ENDPOINT: {{ . | quote }}
{{- end }}
{{- range $name, $value := $root.Values.telemetry.variables }}
{{ $name }}: {{ $value | quote }}
{{- end }}
{{- include "graphtide.settings" (dict "prefix" $prefix "settings" (omit $component.settings "stuckSeconds")) }}
{{- range $room, $settings := $component.nested }}
{{- include "graphtide.settings" (dict "prefix" (printf "%s%s__" $prefix (upper $room)) "settings" $settings) }}
{{- end }}
{{- end }}

{{/* The ConfigMap of a component: root, component. */}}
{{- define "graphtide.configMap" -}}
apiVersion: v1
kind: ConfigMap
metadata:
  {{- include "graphtide.metadata" (dict "root" .root "component" .component.name) | nindent 2 }}
data:
  {{- include "graphtide.variables" . | nindent 2 }}
{{- end }}

{{/* The ServiceAccount of a component: root, component. */}}
{{- define "graphtide.serviceAccount" -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  {{- include "graphtide.metadata" (dict "root" .root "component" .component.name) | nindent 2 }}
  {{- with (include "graphtide.pods" (dict "root" .root "pods" .component.pods) | fromYaml).serviceAccountAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
automountServiceAccountToken: false
{{- end }}

{{/* The Service of a component: root, component; `service` of its values where others call it. */}}
{{- define "graphtide.service" -}}
apiVersion: v1
kind: Service
metadata:
  {{- include "graphtide.metadata" (dict "root" .root "component" .component.name) | nindent 2 }}
  {{- with (default dict .component.service).annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  {{- if .component.service }}
  type: {{ .component.service.type }}
  {{- else }}
  clusterIP: None
  publishNotReadyAddresses: true
  {{- end }}
  selector:
    {{- include "graphtide.selector" (dict "root" .root "component" .component.name) | nindent 4 }}
  ports:
    - name: http
      port: {{ ternary 80 (int .component.port) (not (empty .component.service)) }}
      targetPort: http
      protocol: TCP
{{- end }}

{{/* The PodDisruptionBudget of a component: root, component, budget. */}}
{{- define "graphtide.podDisruptionBudget" -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  {{- include "graphtide.metadata" (dict "root" .root "component" .component.name) | nindent 2 }}
spec:
  maxUnavailable: {{ .budget.maxUnavailable }}
  selector:
    matchLabels:
      {{- include "graphtide.selector" (dict "root" .root "component" .component.name) | nindent 6 }}
{{- end }}

{{/* Restricted Pod Security, for a pod: root, pods. */}}
{{- define "graphtide.podSecurity" -}}
runAsNonRoot: true
runAsUser: {{ .pods.userId }}
runAsGroup: {{ .pods.userId }}
fsGroup: {{ .pods.userId }}
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{/* Restricted Pod Security, for a container. */}}
{{- define "graphtide.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
runAsNonRoot: true
capabilities:
  drop: [ALL]
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{/* Probes of a container whose port is called http: root. */}}
{{- define "graphtide.probes" -}}
{{- $probes := .root.Values.probes -}}
startupProbe:
  httpGet: {path: /livez, port: http}
  periodSeconds: 2
  timeoutSeconds: {{ $probes.timeoutSeconds }}
  failureThreshold: {{ div (add (int $probes.startupSeconds) 1) 2 }}
livenessProbe:
  httpGet: {path: /livez, port: http}
  periodSeconds: {{ $probes.livenessPeriodSeconds }}
  timeoutSeconds: {{ $probes.timeoutSeconds }}
  failureThreshold: 3
readinessProbe:
  httpGet: {path: /readyz, port: http}
  periodSeconds: {{ $probes.readinessPeriodSeconds }}
  timeoutSeconds: {{ $probes.timeoutSeconds }}
  failureThreshold: 3
{{- end }}

{{/* How the pods of a component are spread: root, component (its name). */}}
{{- define "graphtide.topologySpread" -}}
{{- $spread := .root.Values.topologySpread -}}
{{- if $spread.enabled }}
topologySpreadConstraints:
  {{- range $key := $spread.keys }}
  - maxSkew: {{ $spread.maxSkew }}
    topologyKey: {{ $key }}
    whenUnsatisfiable: {{ $spread.whenUnsatisfiable }}
    labelSelector:
      matchLabels:
        {{- include "graphtide.selector" (dict "root" $.root "component" $.component) | nindent 8 }}
  {{- end }}
{{- end }}
{{- end }}

{{/* Files of Secrets that a component reads, as volumes: root, component. */}}
{{- define "graphtide.volumes" -}}
{{- $values := .root.Values }}
- name: scratch
  emptyDir:
    sizeLimit: {{ default "64Mi" .component.scratchSize }}
{{- if and $values.kafka.tls.enabled $values.kafka.tls.existingSecret }}
- name: kafka-tls
  secret:
    secretName: {{ $values.kafka.tls.existingSecret }}
    defaultMode: 0440
    items:
      {{- range compact (list $values.kafka.tls.authoritiesKey $values.kafka.tls.certificateKey $values.kafka.tls.keyKey) }}
      - {key: {{ . }}, path: {{ . }}}
      {{- end }}
{{- end }}
{{- if and .component.redis $values.redis.tls.enabled $values.redis.tls.existingSecret }}
- name: redis-tls
  secret:
    secretName: {{ $values.redis.tls.existingSecret }}
    defaultMode: 0440
    items:
      {{- range compact (list $values.redis.tls.authoritiesKey $values.redis.tls.certificateKey $values.redis.tls.keyKey) }}
      - {key: {{ . }}, path: {{ . }}}
      {{- end }}
{{- end }}
{{- end }}

{{/* Where these volumes are seen: root, component. */}}
{{- define "graphtide.volumeMounts" -}}
{{- $values := .root.Values }}
- name: scratch
  mountPath: /tmp
{{- if and $values.kafka.tls.enabled $values.kafka.tls.existingSecret }}
- name: kafka-tls
  mountPath: /etc/graphtide/kafka
  readOnly: true
{{- end }}
{{- if and .component.redis $values.redis.tls.enabled $values.redis.tls.existingSecret }}
- name: redis-tls
  mountPath: /etc/graphtide/redis
  readOnly: true
{{- end }}
{{- end }}

{{/* What pods have beside their containers: root, component. */}}
{{- define "graphtide.podSpec" -}}
{{- $pods := include "graphtide.pods" (dict "root" .root "pods" .component.pods) | fromYaml -}}
serviceAccountName: {{ include "graphtide.fullname" .root }}-{{ .component.name }}
automountServiceAccountToken: {{ default false .component.callsKubernetes }}
enableServiceLinks: false
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  {{- include "graphtide.podSecurity" (dict "root" .root "pods" $pods) | nindent 2 }}
{{- with $pods.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $pods.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $pods.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $pods.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end }}

{{/* Labels of pods: root, component (its name), pods. Versions are not among them: pods in which nothing changes outlive an upgrade. */}}
{{- define "graphtide.podLabels" -}}
{{- mergeOverwrite (deepCopy .pods.labels) (include "graphtide.selector" . | fromYaml) (dict "app.kubernetes.io/part-of" "graphtide") | toYaml -}}
{{- end }}

{{/* Metadata of a component's pods: root, component. */}}
{{- define "graphtide.podMetadata" -}}
{{- $pods := include "graphtide.pods" (dict "root" .root "pods" .component.pods) | fromYaml -}}
labels:
  {{- include "graphtide.podLabels" (dict "root" .root "component" .component.name "pods" $pods) | nindent 2 }}
annotations:
  checksum/settings: {{ include "graphtide.variables" (dict "root" .root "component" .component) | sha256sum }}
  {{- with $pods.annotations }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{/* The template of a component's pods, which have one container: root, component. `env`, `volumes`, `mounts` of the component are
its own beside those of all. */}}
{{- define "graphtide.podTemplate" -}}
{{- $pods := include "graphtide.pods" (dict "root" .root "pods" .component.pods) | fromYaml -}}
metadata:
  {{- include "graphtide.podMetadata" . | nindent 2 }}
spec:
  {{- include "graphtide.podSpec" . | nindent 2 }}
  {{- with include "graphtide.topologySpread" (dict "root" .root "component" .component.name) | trim }}
  {{- . | nindent 2 }}
  {{- end }}
  terminationGracePeriodSeconds: {{ .component.grace }}
  containers:
    - name: {{ .component.name }}
      image: {{ include "graphtide.image" (dict "root" .root "spark" .component.spark) }}
      imagePullPolicy: {{ .root.Values.image.pullPolicy }}
      command: {{ .component.command | toJson }}
      ports:
        - name: http
          containerPort: {{ .component.port }}
          protocol: TCP
      envFrom:
        - configMapRef:
            name: {{ include "graphtide.fullname" .root }}-{{ .component.name }}
      {{- $secrets := include "graphtide.secrets" . }}
      {{- if or (trim $secrets) .component.env $pods.env }}
      env:
        {{- with trim $secrets }}
        {{- . | nindent 8 }}
        {{- end }}
        {{- with .component.env }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
        {{- with $pods.env }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- end }}
      {{- include "graphtide.probes" . | nindent 6 }}
      {{- if .component.drain }}
      lifecycle:
        preStop:
          sleep:
            seconds: {{ .component.drain }}
      {{- end }}
      resources:
        {{- toYaml .component.resources | nindent 8 }}
      securityContext:
        {{- include "graphtide.containerSecurity" . | nindent 8 }}
      volumeMounts:
        {{- include "graphtide.volumeMounts" . | trim | nindent 8 }}
        {{- with .component.mounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  volumes:
    {{- include "graphtide.volumes" . | trim | nindent 4 }}
    {{- with .component.volumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}

{{/* Seconds in which a program over HTTP ends after a signal, whatever still runs (graphtide_runtime.serving.running), and some. */}}
{{- define "graphtide.httpEndSeconds" -}}30{{- end }}

{{/* Seconds in which one worker ends its round at most (graphtide_runtime.process), and the server of health with it, and some. */}}
{{- define "graphtide.workerEndSeconds" -}}20{{- end }}


{{/* The Ingress of a component: root, component (its name), ingress. */}}
{{- define "graphtide.ingress" -}}
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  {{- include "graphtide.metadata" . | nindent 2 }}
  {{- with .ingress.annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  {{- with .ingress.className }}
  ingressClassName: {{ . }}
  {{- end }}
  {{- if .ingress.tlsSecret }}
  tls:
    - hosts: [{{ .ingress.host | quote }}]
      secretName: {{ .ingress.tlsSecret }}
  {{- end }}
  rules:
    - host: {{ .ingress.host | quote }}
      http:
        paths:
          - path: /
            pathType: Prefix
            backend:
              service:
                name: {{ include "graphtide.fullname" .root }}-{{ .component }}
                port: {name: http}
{{- end }}

{{/* The HTTPRoute of a component: root, component (its name), route. */}}
{{- define "graphtide.httpRoute" -}}
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata:
  {{- include "graphtide.metadata" . | nindent 2 }}
spec:
  parentRefs:
    {{- toYaml .route.parentRefs | nindent 4 }}
  hostnames: {{ toJson .route.hostnames }}
  rules:
    - matches:
        - path: {type: PathPrefix, value: /}
      backendRefs:
        - name: {{ include "graphtide.fullname" .root }}-{{ .component }}
          port: 80
{{- end }}
