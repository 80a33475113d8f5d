{{- define "graphtide.preprocess" -}}
{{- $own := .Values.preprocess -}}
{{- $isDriver := eq $own.kind "Deployment" -}}
name: preprocess
command: [graphtide-preprocess]
prefix: GRAPHTIDE_PREPROCESS_
port: {{ $own.port }}
worker: true
spark: true
scratchSize: {{ $own.scratchSize }}
callsKubernetes: {{ not $isDriver }}
grace: {{ add (int $own.drainSeconds) (include "graphtide.workerEndSeconds" . | int) }}
settings:
  {{- $own.settings | toYaml | nindent 2 }}
  {{- if $isDriver }}
  master: local[{{ $own.cores }}]
  {{- end }}
  streams: {{ toJson $own.streams }}
  checkpoint: {{ $own.checkpoint | quote }}
  unit: {{ .Values.streams.unit }}
  retentionMs: {{ .Values.streams.retentionMs | toJson }}
pods: {{ toJson $own.pods }}
resources: {{ toJson $own.resources }}
{{- end }}

{{/* A pod of the SparkApplication: root, component, container, callsKubernetes. The operator adds image, command and resources. Of the
driver alone port and probes are asked for; executors are known to it. */}}
{{- define "graphtide.preprocess.pod" -}}
{{- $isDriver := .callsKubernetes -}}
{{- $component := mergeOverwrite (deepCopy .component) (dict "callsKubernetes" $isDriver) -}}
metadata:
  {{- include "graphtide.podMetadata" (dict "root" .root "component" (mergeOverwrite (deepCopy $component) (dict "name" (ternary "preprocess" "preprocess-executor" $isDriver)))) | nindent 2 }}
spec:
  {{- if $isDriver }}
  {{- include "graphtide.podSpec" (dict "root" .root "component" $component) | nindent 2 }}
  {{- else }}
  {{- omit (include "graphtide.podSpec" (dict "root" .root "component" $component) | fromYaml) "serviceAccountName" | toYaml | nindent 2 }}
  {{- end }}
  terminationGracePeriodSeconds: {{ $component.grace }}
  containers:
    - name: {{ .container }}
      {{- if $isDriver }}
      ports:
        - name: http
          containerPort: {{ $component.port }}
          protocol: TCP
      {{- include "graphtide.probes" . | nindent 6 }}
      {{- end }}
      envFrom:
        - configMapRef:
            name: {{ include "graphtide.objectName" (dict "root" .root "component" "preprocess") }}
        {{- with include "graphtide.extraEnvFrom" (dict "root" .root "component" $component) }}
        {{- . | nindent 8 }}
        {{- end }}
      {{- with include "graphtide.env" (dict "root" .root "component" $component) | trim }}
      env:
        {{- . | nindent 8 }}
      {{- end }}
      securityContext:
        {{- include "graphtide.containerSecurity" . | nindent 8 }}
      volumeMounts:
        {{- include "graphtide.volumeMounts" (dict "root" .root "component" $component) | trim | nindent 8 }}
        # Spark takes a volume of this name for its local folder.
        - name: spark-local-dir-1
          mountPath: /var/graphtide/spark
    {{- with include "graphtide.sidecars" (dict "root" .root "component" $component) }}
    {{- . | nindent 4 }}
    {{- end }}
  volumes:
    {{- include "graphtide.volumes" (dict "root" .root "component" (omit $component "scratchSize")) | trim | nindent 4 }}
    - name: spark-local-dir-1
      emptyDir:
        sizeLimit: {{ $component.scratchSize }}
{{- end }}
