{{- define "martlet.name" -}}
{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- end }}

{{- define "martlet.labels" -}}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
app.kubernetes.io/name: martlet
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{/* Labels of a component's pods: (list ROOT COMPONENT). */}}
{{- define "martlet.selector" -}}
app.kubernetes.io/name: martlet
app.kubernetes.io/instance: {{ (index . 0).Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{- define "martlet.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{/* The host of a Service in this namespace: (list ROOT COMPONENT). */}}
{{- define "martlet.host" -}}
{{ include "martlet.name" (index . 0) }}-{{ index . 1 }}.{{ (index . 0).Release.Namespace }}.svc
{{- end }}

{{/* Whether there is a CHF: a text, empty for none. */}}
{{- define "martlet.hasChf" -}}
{{- if dig "chf" "enabled" false (.Values.config | default dict) }}yes{{ end -}}
{{- end }}

{{/* Ports of the services in the pods of the core. */}}
{{- define "martlet.ports" -}}
nrf: 7710
udr: 7711
udm: 7712
ausf: 7713
pcf: 7714
nssf: 7715
lmf: 7718
{{- if include "martlet.hasChf" . }}
chf: 7719
{{- end }}
{{- end }}

{{/* The host of a pod of the core: (list ROOT MEMBER). */}}
{{- define "martlet.coreHost" -}}
{{ include "martlet.name" (index . 0) }}-core-{{ index . 1 }}.{{ include "martlet.host" (list (index . 0) "core") }}
{{- end }}

{{/* Ports of metrics and probes, see oam.listen. */}}
{{- define "martlet.oam" -}}
core: 9090
upf: 9097
smf: 9098
amf: 9100
{{- end }}

{{- define "martlet.databaseUrl" -}}
{{- if eq .Values.database.kind "cloudnative-pg" -}}
${DATABASE_URI}?sslmode=verify-full&sslrootcert=/etc/martlet/database/ca.crt
{{- else -}}
{{- with .Values.database.external -}}
${DATABASE_URI}?{{ .parameters }}{{ if .authority.secret }}&sslrootcert=/etc/martlet/database/{{ .authority.key }}{{ end }}
{{- end -}}
{{- end -}}
{{- end }}

{{/* The NRFs, one in each pod of the core, that of a pod first: (list ROOT MEMBER). The first one
     is the address that an NRF here listens at, with its name in `advertise`. */}}
{{- define "martlet.nrfs" -}}
{{- $root := index . 0 -}}
{{- $first := index . 1 -}}
{{- $port := (include "martlet.ports" $root | fromYaml).nrf -}}
advertise:
  nrf: {{ include "martlet.coreHost" (list $root $first) }}:{{ $port }}
nrf:
  - 0.0.0.0:{{ $port }}
  {{- range $member := until (int $root.Values.core.replicas) }}
  {{- if ne $member $first }}
  - {{ include "martlet.coreHost" (list $root $member) }}:{{ $port }}
  {{- end }}
  {{- end }}
{{- end }}

{{/* What all functions are configured with. */}}
{{- define "martlet.common" -}}
state_dir: /var/lib/martlet
network:
  {{- toYaml .Values.network | nindent 2 }}
sbi:
  pki: {{ ternary "/etc/martlet/pki/${POD_NAME}" "none" .Values.pki.enabled }}
  {{- include "martlet.nrfs" (list . 0) | nindent 2 }}
oam:
  listen: 0.0.0.0:9090
udr:
  path: {{ include "martlet.databaseUrl" . | quote }}
{{- end }}

{{/* A configuration as text: (list ROOT OWN), with `config` of the values over both. */}}
{{- define "martlet.configuration" -}}
{{- $root := index . 0 -}}
{{- $common := include "martlet.common" $root | fromYaml -}}
{{- $own := index . 1 | fromYaml -}}
{{- range list $common $own -}}
{{- with .Error -}}{{- fail . -}}{{- end -}}
{{- end -}}
{{- mergeOverwrite $common $own (deepCopy $root.Values.config) | toYaml -}}
{{- end }}

{{- define "martlet.environment" -}}
- name: POD_NAME
  valueFrom: { fieldRef: { fieldPath: metadata.name } }
- name: POD_IP
  valueFrom: { fieldRef: { fieldPath: status.podIP } }
- name: POD_INDEX
  valueFrom: { fieldRef: { fieldPath: "metadata.labels['apps.kubernetes.io/pod-index']" } }
- name: DATABASE_URI
  valueFrom:
    secretKeyRef:
      {{- if eq .Values.database.kind "cloudnative-pg" }}
      { name: {{ include "martlet.name" . }}-database-app, key: uri }
      {{- else }}
      { name: {{ .Values.database.external.secret }}, key: {{ .Values.database.external.key }} }
      {{- end }}
- name: MARTLET_STORE_KEY
  valueFrom:
    secretKeyRef: { name: {{ .Values.operatorKey.secret }}, key: {{ .Values.operatorKey.key }} }
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Volumes of a component: (list ROOT COMPONENT). */}}
{{- define "martlet.volumes" -}}
{{- $root := index . 0 -}}
{{- $component := index . 1 -}}
- name: configuration
  configMap: { name: {{ include "martlet.name" $root }}-{{ $component }} }
- name: run
  emptyDir: { medium: Memory }
{{- if and $root.Values.pki.enabled (ne $component "upf") }}
{{- range $member := until (int (index $root.Values $component).replicas) }}
- name: pki-{{ $member }}
  secret: { secretName: {{ index $root.Values.pki.secrets $component }}-{{ $member }}, defaultMode: 0440 }
{{- end }}
{{- end }}
{{- if ne $component "upf" }}
{{- if eq $root.Values.database.kind "cloudnative-pg" }}
- name: database
  secret:
    secretName: {{ include "martlet.name" $root }}-database-ca
    items: [{ key: ca.crt, path: ca.crt }]
{{- else if $root.Values.database.external.authority.secret }}
- name: database
  secret: { secretName: {{ $root.Values.database.external.authority.secret }} }
{{- end }}
{{- end }}
{{- if ne $component "core" }}
- name: state
  emptyDir: {}
{{- end }}
{{- end }}

{{- define "martlet.mounts" -}}
{{- $root := index . 0 -}}
{{- $component := index . 1 -}}
- { name: configuration, mountPath: /etc/martlet/configuration, readOnly: true }
- { name: run, mountPath: /run/martlet }
- { name: state, mountPath: /var/lib/martlet }
{{- if and $root.Values.pki.enabled (ne $component "upf") }}
{{- range $member := until (int (index $root.Values $component).replicas) }}
- { name: pki-{{ $member }}, mountPath: /etc/martlet/pki/{{ include "martlet.name" $root }}-{{ $component }}-{{ $member }}, readOnly: true }
{{- end }}
{{- end }}
{{- if and (ne $component "upf") (or (eq $root.Values.database.kind "cloudnative-pg") $root.Values.database.external.authority.secret) }}
- { name: database, mountPath: /etc/martlet/database, readOnly: true }
{{- end }}
{{- end }}

{{- define "martlet.probes" -}}
startupProbe:
  httpGet: { path: /healthz, port: metrics }
  periodSeconds: 1
  failureThreshold: 60
livenessProbe:
  httpGet: { path: /healthz, port: metrics }
  periodSeconds: 10
  timeoutSeconds: 5
readinessProbe:
  httpGet: { path: /readyz, port: metrics }
  periodSeconds: 2
{{- end }}

{{- define "martlet.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{/* A pod of the core: (list ROOT MEMBER). */}}
{{- define "martlet.core" }}
{{- $root := index . 0 }}
{{- $member := index . 1 }}
{{- $ports := include "martlet.ports" $root | fromYaml }}
sbi:
  external: [amf, smf, upf]
  {{- $nrfs := include "martlet.nrfs" . | fromYaml }}
  nrf: {{ toJson $nrfs.nrf }}
  advertise:
    {{- range $name, $port := $ports }}
    {{ $name }}: {{ include "martlet.coreHost" (list $root $member) }}:{{ $port }}
    {{- end }}
  {{- range $name, $port := omit $ports "nrf" }}
  {{ $name }}: 0.0.0.0:{{ $port }}
  {{- end }}
{{- if include "martlet.hasChf" $root }}
chf:
  set: { id: "1", member: {{ $member }}, plmn: {{ $root.Values.network.plmn | quote }} }
{{- end }}
# LCS-UPP needs an address on N6.
lmf: { user_plane: { enabled: false } }
{{- end }}
{{- define "martlet.amf" }}
sbi:
  amf: 0.0.0.0:7777
  advertise: { amf: "${POD_NAME}.{{ include "martlet.host" (list . "amf") }}:7777" }
amf:
  name: {{ .Values.amf.name }}
  guamis:
    - { plmn: {{ .Values.network.plmn | quote }}, region: {{ .Values.amf.region }}, set: {{ .Values.amf.set }}, pointer: "${POD_INDEX}" }
  n2:
    bind: [{{ ternary "${POD_IP}" "0.0.0.0" (eq .Values.amf.n2.network "host") | quote }}]
    port: {{ .Values.amf.n2.port }}
{{- end }}
{{- define "martlet.smf" }}
{{- $root := index . 0 }}
{{- $member := index . 1 }}
sbi:
  smf: 0.0.0.0:7777
  advertise: { smf: "${POD_NAME}.{{ include "martlet.host" (list $root "smf") }}:7777" }
smf:
  set: { id: "1", member: {{ $member }}, plmn: {{ $root.Values.network.plmn | quote }} }
  n4: { bind: "${POD_IP}" }
  dnns:
    {{- range $root.Values.smf.dnns }}
    - {{ mergeOverwrite (omit . "pools") (dict "pool" (index .pools $member) "pool6" "") | toJson }}
    {{- end }}
  upfs:
    {{- range $root.Values.upf.nodes }}
    - { n4: "{{ .n4 }}:8805"{{ with .tacs }}, tacs: {{ toJson . }}{{ end }} }
    {{- end }}
{{- end }}
{{- define "martlet.upf" }}
{{- $root := index . 0 }}
{{- $node := index . 1 }}
{{- with $root.Values.upf }}
upf:
  n4: { address: "{{ $node.n4 }}:8805", allow: {{ toJson .n4Allow }} }
  n3: { address: "{{ $node.n3 }}:2152", allow: {{ toJson .n3Allow }} }
  n6: { mode: {{ .n6.mode }} }
  datapath: {{ .datapath }}
  xdp:
    {{- with $node.interfaces }}
    interfaces: {{ toJson . }}
    {{- end }}
    nat: { addresses: {{ toJson .nat.addresses }} }
  dnns:
    {{- range $root.Values.smf.dnns }}
    - { name: {{ .name }}, pools: {{ toJson .pools }} }
    {{- end }}
{{- end }}
{{- end }}

{{- define "martlet.from" }}
{{- $root := index . 0 }}
{{- range $component := index . 1 }}
- podSelector: { matchLabels: {{ include "martlet.selector" (list $root $component) | fromYaml | toJson }} }
{{- end }}
{{- range $root.Values.networkPolicy.nodes }}
- ipBlock: { cidr: {{ . }} }
{{- end }}
{{- end }}
{{- define "martlet.scrape" }}
- from: [{ namespaceSelector: { matchLabels: {{ toJson (index . 0).Values.networkPolicy.monitoring }} } }]
  ports: [{ port: {{ index . 1 }} }]
{{- end }}
