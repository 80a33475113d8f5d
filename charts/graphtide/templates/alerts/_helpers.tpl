{{- define "graphtide.alerts" -}}
{{- $own := .Values.alerts -}}
name: alerts
command: [graphtide-alerts]
prefix: GRAPHTIDE_ALERTS_
port: {{ $own.port }}
worker: true
grace: {{ include "graphtide.workerEndSeconds" . }}
settings:
  {{- $own.settings | toYaml | nindent 2 }}
  allowedAddresses: {{ toJson .Values.adminApi.settings.allowedAddresses }}
  replicated: {{ gt (int $own.replicas) 1 }}
  {{- if $own.existingSecret }}
  secrets: /etc/graphtide/targets
  {{- end }}
  {{- if $own.existingClaim }}
  files: /var/graphtide/alerts
  {{- end }}
mounts:
  {{- if $own.existingSecret }}
  - {name: target-secrets, mountPath: /etc/graphtide/targets, readOnly: true}
  {{- end }}
  {{- if $own.existingClaim }}
  - {name: alert-files, mountPath: /var/graphtide/alerts}
  {{- end }}
volumes:
  {{- if $own.existingSecret }}
  - name: target-secrets
    secret: {secretName: {{ $own.existingSecret }}, defaultMode: 0440}
  {{- end }}
  {{- if $own.existingClaim }}
  - name: alert-files
    persistentVolumeClaim: {claimName: {{ $own.existingClaim }}}
  {{- end }}
pods: {{ toJson $own.pods }}
resources: {{ toJson $own.resources }}
{{- end }}
