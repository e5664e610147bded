{{- define "forge.fullname" -}}
{{- if eq .Release.Name "forge" }}forge{{ else }}{{ printf "%s-forge" .Release.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "forge.selector" -}}
app.kubernetes.io/name: forge
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "forge.labels" -}}
{{ include "forge.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "forge.image" -}}
{{- with .Values.image -}}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end }}
{{- end }}

{{- define "forge.check" -}}
{{- $processes := add .Values.serve.replicas .Values.door.replicas .Values.worker.replicas | int }}
{{- if and (eq .Values.database "sqlite") (gt $processes 1) }}
{{- fail "database is sqlite, which one process uses alone, and there would be more. Set database=postgresql and put forge_database_url into the Secret, or keep serve.replicas at 1 and the others at 0." }}
{{- end }}
{{- if and (eq .Values.database "sqlite") (not .Values.persistence.enabled) }}
{{- fail "database is sqlite and persistence is off, so everything would be lost with the pod. Set persistence.enabled=true or database=postgresql." }}
{{- end }}
{{- if and .Values.ingress.enabled (not .Values.ingress.host) }}
{{- fail "ingress is on and has no host. Set ingress.host to the name under which GitHub reaches Forge." }}
{{- end }}
{{- end }}
