{{/* The pod of one kind of process. Takes a dict: root, kind (serve, door, worker). */}}
{{- define "forge.pod" -}}
{{- $root := .root }}
{{- $values := $root.Values }}
{{- $own := index $values .kind }}
{{- $namespaces := and (eq $values.sandbox.level "bubblewrap") (ne .kind "door") }}
metadata:
  labels:
    {{- include "forge.labels" $root | nindent 4 }}
    app.kubernetes.io/component: {{ .kind }}
    {{- with $values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with $values.podAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  serviceAccountName: {{ include "forge.fullname" $root }}
  automountServiceAccountToken: false
  # Its variables (FORGE_PORT and others) would be taken for settings.
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ $values.terminationGracePeriodSeconds }}
  {{- with $values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if $namespaces }}
  hostUsers: false
  {{- end }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 10001
    runAsGroup: 10001
    fsGroup: 10001
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile:
      {{- if $namespaces }}
      type: Localhost
      localhostProfile: {{ $values.sandbox.seccompProfile }}
      {{- else }}
      type: RuntimeDefault
      {{- end }}
  containers:
    - name: forge
      image: {{ include "forge.image" $root | quote }}
      imagePullPolicy: {{ $values.image.pullPolicy }}
      args: [forge, {{ .kind }}]
      env:
        # Stable and unique: the name of the pod in its StatefulSet.
        - name: FORGE_EXECUTOR_ID
          valueFrom:
            fieldRef:
              fieldPath: metadata.name
        - name: FORGE_SECRETS_DIR
          value: /run/secrets/forge
        {{- if $values.serviceMonitor.enabled }}
        - name: FORGE_METRICS
          value: "true"
        {{- end }}
        {{- if and $values.ingress.enabled (not (hasKey $values.settings "FORGE_PUBLIC_URL")) }}
        # The name under which the dashboard answers, and to which people are led.
        - name: FORGE_PUBLIC_URL
          value: {{ printf "https://%s" $values.ingress.host | quote }}
        {{- end }}
        {{- range $name, $value := $values.settings }}
        - name: {{ $name }}
          value: {{ $value | quote }}
        {{- end }}
      ports:
        - name: http
          containerPort: 3000
      # A migration may take its time before the first answer.
      startupProbe:
        httpGet: {path: /healthz, port: http}
        periodSeconds: 5
        failureThreshold: 120
      # Answers also while the database is away: a restart would not bring it back.
      livenessProbe:
        httpGet: {path: /healthz, port: http}
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      readinessProbe:
        httpGet: {path: /readyz, port: http}
        periodSeconds: 5
        timeoutSeconds: 5
        failureThreshold: 2
      lifecycle:
        preStop:
          exec:
            command: [sleep, {{ $values.drainSeconds | quote }}]
      resources:
        {{- toYaml $own.resources | nindent 8 }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities:
          drop: [ALL]
        {{- if $namespaces }}
        procMount: Unmasked
        appArmorProfile:
          type: Unconfined
        {{- end }}
      volumeMounts:
        - {name: data, mountPath: /var/lib/forge}
        - {name: temporary, mountPath: /tmp}
        - {name: secrets, mountPath: /run/secrets/forge, readOnly: true}
  volumes:
    - name: temporary
      emptyDir:
        sizeLimit: {{ $values.temporary.sizeLimit }}
    - name: secrets
      secret:
        secretName: {{ $values.existingSecret }}
        defaultMode: 0440
        {{- if eq .kind "door" }}
        # What a door needs, however it is spelt, and above all not the App's key.
        optional: true
        items:
          {{- range (list "forge_app_id" "forge_webhook_secret" "forge_database_url") }}
          - {key: {{ . }}, path: {{ . }}}
          - {key: {{ upper . }}, path: {{ upper . }}}
          {{- end }}
        {{- end }}
    {{- if or (eq .kind "door") (not $values.persistence.enabled) }}
    - name: data
      emptyDir: {}
    {{- end }}
  {{- with $values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}

{{/* A set of processes that work: each has a name and a volume that outlast its pod. Takes the same dict. */}}
{{- define "forge.set" -}}
{{- $root := .root }}
{{- $name := printf "%s-%s" (include "forge.fullname" $root) .kind }}
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: {{ $name }}
  labels:
    {{- include "forge.labels" $root | nindent 4 }}
    app.kubernetes.io/component: {{ .kind }}
spec:
  serviceName: {{ $name }}
  replicas: {{ (index $root.Values .kind).replicas }}
  podManagementPolicy: Parallel
  selector:
    matchLabels:
      {{- include "forge.selector" $root | nindent 6 }}
      app.kubernetes.io/component: {{ .kind }}
  template:
    {{- include "forge.pod" . | nindent 4 }}
  {{- if $root.Values.persistence.enabled }}
  volumeClaimTemplates:
    - metadata:
        name: data
      spec:
        accessModes: [ReadWriteOnce]
        {{- with $root.Values.persistence.storageClass }}
        storageClassName: {{ . }}
        {{- end }}
        resources:
          requests:
            storage: {{ $root.Values.persistence.size }}
  {{- end }}
{{- end }}

{{/* A service in front of one kind of process. Takes the same dict, and headless. */}}
{{- define "forge.service" -}}
apiVersion: v1
kind: Service
metadata:
  name: {{ include "forge.fullname" .root }}-{{ .kind }}
  labels:
    {{- include "forge.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .kind }}
spec:
  {{- if .headless }}
  clusterIP: None
  {{- else }}
  type: {{ .root.Values.service.type }}
  {{- end }}
  selector:
    {{- include "forge.selector" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .kind }}
  ports:
    - name: http
      port: {{ .root.Values.service.port }}
      targetPort: http
{{- end }}
