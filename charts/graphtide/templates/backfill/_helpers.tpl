{{- define "graphtide.backfill" -}}
{{- $own := .Values.backfill -}}
name: backfill
command: [graphtide-backfill, serve]
prefix: GRAPHTIDE_BACKFILL_
port: {{ $own.port }}
worker: true
spark: true
scratchSize: {{ $own.scratchSize }}
grace: {{ include "graphtide.workerEndSeconds" . }}
settings:
  {{- $own.settings | toYaml | nindent 2 }}
  folder: /var/graphtide/backfills
mounts:
  - {name: backfills, mountPath: /var/graphtide/backfills}
volumes:
  - name: backfills
    persistentVolumeClaim: {claimName: {{ default (include "graphtide.objectName" (dict "root" . "component" "backfill")) $own.persistence.existingClaim }}}
pods: {{ toJson $own.pods }}
resources: {{ toJson $own.resources }}
{{- end }}
