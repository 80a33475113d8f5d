{{/* One alert: root, name, for, severity, expr, summary, description. */}}
{{- define "graphtide.alert" -}}
- alert: {{ .name }}
  expr: {{ .expr | trim | quote }}
  for: {{ .for }}
  labels:
    severity: {{ .severity }}
  annotations:
    summary: {{ .summary | quote }}
    description: {{ .description | quote }}
    runbook_url: {{ .root.Values.monitoring.rules.runbooks }}{{ .name }}.md
{{- end }}
