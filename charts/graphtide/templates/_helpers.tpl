{{/* What all components share. A component describes itself as YAML (`graphtide.<component>`), read back with fromYaml:

  name             in names and labels
  command          of its container
  prefix           of its variables of the environment
  port             of HTTP, health and metrics
  access           whether it asks callers who they are
  worker           whether settings of health have a room of their own, as in services without HTTP of their own
  redis            whether it keeps checkpoints there, or reads what matchers share
  spark            whether its image is that on Spark
  callsKubernetes  whether its pods have a token for the API
  grace            seconds that it may take to end
  drain            seconds that a pod still gets requests while it is being stopped
  settings         of the service, by their names in values
  nested           settings of the service that have a room of their own
  service          of its values, where others than readers of metrics call it
  env, volumes, mounts   its own, beside those of all
  scratchSize, pods, resources   as in values
*/}}

{{- define "graphtide.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end }}

{{- define "graphtide.fullname" -}}
{{- $whole := printf "%s-%s" .Release.Name (include "graphtide.name" .) -}}
{{- if .Values.fullnameOverride -}}
{{- $whole = .Values.fullnameOverride -}}
{{- else if contains (include "graphtide.name" .) .Release.Name -}}
{{- $whole = .Release.Name -}}
{{- end -}}
{{- include "graphtide.cut" (dict "name" ($whole | replace "." "-") "most" 40) -}}
{{- end }}

{{/* A name of so many characters at most; of one that is longer the beginning, and a hash of the whole: name, most. */}}
{{- define "graphtide.cut" -}}
{{- if gt (len .name) (int .most) -}}
{{- printf "%s-%s" (.name | trunc (int (sub .most 9)) | trimSuffix "-") (.name | sha256sum | trunc 8) -}}
{{- else -}}
{{- .name | trimSuffix "-" -}}
{{- end -}}
{{- end }}

{{/* The name of an object of a component: root, component (its name), and a suffix where it has one. Kubernetes makes labels of
63 characters at most out of the name of a StatefulSet and a hash of 10; Spark begins names of pods with 47 characters at most. */}}
{{- define "graphtide.objectName" -}}
{{- $whole := printf "%s-%s" (include "graphtide.fullname" .root) .component -}}
{{- with .suffix }}{{ $whole = printf "%s-%s" $whole . }}{{ end -}}
{{- include "graphtide.cut" (dict "name" $whole "most" (ternary 47 52 (hasPrefix "preprocess" .component))) -}}
{{- end }}

{{/* Labels that find pods: root, component. */}}
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
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name (.root.Chart.Version | replace "+" "_") | trunc 63 | trimAll "-_." }}
{{- with omit .root.Values.commonLabels "app.kubernetes.io/name" "app.kubernetes.io/instance" "app.kubernetes.io/component" "app.kubernetes.io/part-of" "app.kubernetes.io/managed-by" "app.kubernetes.io/version" "helm.sh/chart" }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Metadata of an object of a component: root, component, and the suffix of the name where it has one. */}}
{{- define "graphtide.metadata" -}}
name: {{ include "graphtide.objectName" . }}
namespace: {{ .root.Release.Namespace }}
labels:
  {{- include "graphtide.labels" . | nindent 2 }}
{{- end }}

{{/* The image of a component: root, spark. A registry of all charts takes the place of the image's own. */}}
{{- define "graphtide.image" -}}
{{- $image := ternary .root.Values.sparkImage .root.Values.image (default false .spark) -}}
{{- with default $image.registry .root.Values.global.imageRegistry }}{{ trimSuffix "/" . }}/{{ end -}}
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

{{/* Variables that say where Kafka is: root, prefix. */}}
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
{{- if and (eq .component.name "sequencer") $values.sequencer.schemaRegistry.existingSecret }}
- name: {{ $prefix }}SCHEMA_REGISTRY
  valueFrom: {secretKeyRef: {name: {{ $values.sequencer.schemaRegistry.existingSecret }}, key: {{ $values.sequencer.schemaRegistry.urlKey }}}}
{{- end }}
{{- if and .component.redis $values.redis.auth.existingSecret }}
{{- if and $values.redis.auth.usernameKey (not $values.redis.auth.username) }}
- name: {{ $prefix }}REDIS_USERNAME
  valueFrom: {secretKeyRef: {name: {{ $values.redis.auth.existingSecret }}, key: {{ $values.redis.auth.usernameKey }}}}
{{- end }}
- name: {{ $prefix }}REDIS_PASSWORD
  valueFrom: {secretKeyRef: {name: {{ $values.redis.auth.existingSecret }}, key: {{ $values.redis.auth.passwordKey }}}}
{{- with $values.redis.auth.sentinelPasswordKey }}
- name: {{ $prefix }}REDIS_SENTINEL_PASSWORD
  valueFrom: {secretKeyRef: {name: {{ $values.redis.auth.existingSecret }}, key: {{ . }}}}
{{- end }}
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

{{/* Variables that say who may call: root, prefix. */}}
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

{{/* Variables that say where Redis is: root, prefix. */}}
{{- define "graphtide.redis.settings" -}}
{{- $redis := .root.Values.redis -}}
{{- $scheme := ternary "rediss" "redis" $redis.tls.enabled -}}
{{- if eq $redis.mode "cluster" }}
{{ .prefix }}REDIS: {{ printf "%s+cluster://%s" $scheme (join "," $redis.nodes) }}
{{- else if eq $redis.mode "sentinel" }}
{{ .prefix }}REDIS: {{ printf "%s+sentinel://%s/%s/%d" $scheme (join "," $redis.nodes) $redis.primary (int $redis.database) }}
{{- else }}
{{ .prefix }}REDIS: {{ printf "%s://%s:%d/%d" $scheme $redis.host (int $redis.port) (int $redis.database) }}
{{- end }}
{{- with $redis.auth.username }}
{{ $.prefix }}REDIS_USERNAME: {{ . | quote }}
{{- end }}
{{- with $redis.auth.sentinelUsername }}
{{ $.prefix }}REDIS_SENTINEL_USERNAME: {{ . | quote }}
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

{{/* All variables of a component that are not secrets: root, component. */}}
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
  {{- range $domain := $spread.keys }}
  {{- $key := kindIs "string" $domain | ternary $domain (get (kindIs "string" $domain | ternary dict $domain) "key") }}
  {{- $own := ternary $spread.whenUnsatisfiable "ScheduleAnyway" (eq $key "kubernetes.io/hostname") }}
  {{- if not (kindIs "string" $domain) }}{{ $own = default $own $domain.whenUnsatisfiable }}{{ end }}
  - maxSkew: {{ $spread.maxSkew }}
    topologyKey: {{ $key }}
    whenUnsatisfiable: {{ $own }}
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
{{- with include "graphtide.extraVolumes" . }}
{{ . }}
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
{{- with include "graphtide.extraVolumeMounts" . }}
{{ . }}
{{- end }}
{{- end }}

{{/* What pods have beside their containers: root, component, and `endsByItself` where they do. */}}
{{- define "graphtide.podSpec" -}}
{{- $pods := include "graphtide.pods" (dict "root" .root "pods" .component.pods) | fromYaml -}}
serviceAccountName: {{ include "graphtide.objectName" (dict "root" .root "component" .component.name) }}
automountServiceAccountToken: {{ default false .component.callsKubernetes }}
enableServiceLinks: false
{{- with concat .root.Values.image.pullSecrets .root.Values.global.imagePullSecrets | uniq }}
imagePullSecrets:
  {{- range . }}
  - name: {{ kindIs "string" . | ternary . (get (kindIs "string" . | ternary dict .) "name") }}
  {{- end }}
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
{{- with $pods.hostAliases }}
hostAliases:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $pods.dnsPolicy }}
dnsPolicy: {{ . }}
{{- end }}
{{- with $pods.dnsConfig }}
dnsConfig:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- $first := $pods.initContainers -}}
{{- if .endsByItself }}
{{- range $sidecar := $pods.sidecars }}
{{- $first = append $first (mergeOverwrite (deepCopy $sidecar) (dict "restartPolicy" "Always")) }}
{{- end }}
{{- end }}
{{- with $first }}
initContainers:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Containers beside that of a component, whose pods run for ever: root, component. In pods that end by themselves they are init
containers that keep running (`endsByItself` of graphtide.podSpec), for those are ended with the pod. */}}
{{- define "graphtide.sidecars" -}}
{{- with (include "graphtide.pods" (dict "root" .root "pods" .component.pods) | fromYaml).sidecars }}
{{- toYaml . }}
{{- end }}
{{- end }}

{{/* Variables of a container that are not in a ConfigMap, as a list: root, component. */}}
{{- define "graphtide.env" -}}
{{- $pods := include "graphtide.pods" (dict "root" .root "pods" .component.pods) | fromYaml -}}
{{- with include "graphtide.secrets" . | trim }}
{{ . }}
{{- end }}
{{- with concat (default list .component.env) $pods.env $pods.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Where further variables are, as a list: root, component. */}}
{{- define "graphtide.extraEnvFrom" -}}
{{- with (include "graphtide.pods" (dict "root" .root "pods" .component.pods) | fromYaml).extraEnvFrom }}
{{- toYaml . }}
{{- end }}
{{- end }}

{{/* Volumes of a user: root, component. */}}
{{- define "graphtide.extraVolumes" -}}
{{- with (include "graphtide.pods" (dict "root" .root "pods" .component.pods) | fromYaml).extraVolumes }}
{{- toYaml . }}
{{- end }}
{{- end }}

{{/* Where these are seen: root, component. */}}
{{- define "graphtide.extraVolumeMounts" -}}
{{- with (include "graphtide.pods" (dict "root" .root "pods" .component.pods) | fromYaml).extraVolumeMounts }}
{{- toYaml . }}
{{- end }}
{{- end }}

{{/* Labels of pods: root, component (its name), pods. Versions are not among them: unchanged pods outlive an upgrade. */}}
{{- define "graphtide.podLabels" -}}
{{- mergeOverwrite (deepCopy .root.Values.commonLabels) (deepCopy .pods.labels) (include "graphtide.selector" . | fromYaml) (dict "app.kubernetes.io/part-of" "graphtide") | toYaml -}}
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

{{/* The template of a component's pods, which have one container beside those of `pods`: root, component. `env`, `volumes`, `mounts` of the component are
its own beside those of all. */}}
{{- define "graphtide.podTemplate" -}}
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
            name: {{ include "graphtide.objectName" (dict "root" .root "component" .component.name) }}
        {{- with include "graphtide.extraEnvFrom" . }}
        {{- . | nindent 8 }}
        {{- end }}
      {{- with include "graphtide.env" . | trim }}
      env:
        {{- . | nindent 8 }}
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
    {{- with include "graphtide.sidecars" . }}
    {{- . | nindent 4 }}
    {{- end }}
  volumes:
    {{- include "graphtide.volumes" . | trim | nindent 4 }}
    {{- with .component.volumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}

{{/* Seconds that a program over HTTP takes to end after a signal, even if something still runs (graphtide_serving.running), and some. */}}
{{- define "graphtide.httpEndSeconds" -}}30{{- end }}

{{/* Seconds that one worker takes to end its round at most (graphtide_serving.process), and the server of health with it, and some. */}}
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
                name: {{ include "graphtide.objectName" . }}
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
        - name: {{ include "graphtide.objectName" . }}
          port: 80
{{- end }}
