{{/* The name of objects: "windlass" for a release of that name, RELEASE-windlass for others. */}}
{{- define "windlass.fullname" -}}
{{- $name := .Values.nameOverride | default .Chart.Name -}}
{{- $full := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) -}}
{{- .Values.fullnameOverride | default $full | trunc 50 | trimSuffix "-" -}}
{{- end }}

{{- define "windlass.selector" -}}
app.kubernetes.io/name: {{ .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "windlass.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{ include "windlass.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/component: kube-controller-manager
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "windlass.account" -}}
{{- if .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default (include "windlass.fullname" .) -}}
{{- else -}}
{{- required "serviceAccount.name: with serviceAccount.create false, name the service account that there is" .Values.serviceAccount.name -}}
{{- end -}}
{{- end }}

{{- define "windlass.image" -}}
{{- $repository := required "image.repository: no image is published yet: build it (deploy/README.md), push it to a registry of yours, and name it here, as registry.example/windlass" .Values.image.repository -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" $repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" $repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end }}

{{/* The configuration as JSON: the fields that the chart sets, and over them those of the values. */}}
{{- define "windlass.config" -}}
{{- $own := dict
  "apiVersion" "config.windlass.dev/v1alpha1"
  "kind" "ControllerManagerConfiguration"
  "controllers" (list "*")
  "useServiceAccountCredentials" true
  "leaderElection" (dict "leaderElect" true "resourceNamespace" "kube-system" "resourceName" "kube-controller-manager")
  "serving" (dict "bindAddress" (ternary "127.0.0.1" "0.0.0.0" .Values.hostNetwork) "port" 10257)
  "registries" (dict "cacheFolder" "/tmp/modules")
-}}
{{- if .Values.tlsSecret -}}
{{- $_ := set $own.serving "tls" (dict "certFile" "/etc/windlass-tls/tls.crt" "keyFile" "/etc/windlass-tls/tls.key") -}}
{{- end -}}
{{- if .Values.signing.secret -}}
{{- $signing := dict -}}
{{- range $field := list "certFile" "keyFile" "serviceAccountKeyFile" -}}
{{- with index $.Values.signing $field }}{{ $_ := set $signing $field (printf "/etc/windlass-signing/%s" .) }}{{ end -}}
{{- end -}}
{{- $_ := set $own "signing" $signing -}}
{{- end -}}
{{- if .Values.plugins.volume -}}
{{- $_ := set $own "pluginFolder" "/var/lib/windlass/plugins" -}}
{{- end -}}
{{- mergeOverwrite $own (deepCopy .Values.config) | toJson -}}
{{- end }}

{{/* Fails where two managers would run the same controllers at once. */}}
{{- define "windlass.check" -}}
{{- $config := include "windlass.config" . | fromJson -}}
{{- $election := $config.leaderElection -}}
{{- if and (not $election.leaderElect) (gt (int .Values.replicas) 1) -}}
{{- fail (printf "config.leaderElection.leaderElect: false with replicas: %d: all of them would run the same controllers at once: set replicas: 1, or leave leaderElect true" (int .Values.replicas)) -}}
{{- end -}}
{{- if and (eq .Values.nativeManager "running") (has "*" $config.controllers) -}}
{{- $hint := "kube-controller-manager would run the same controllers at once: name controllers that it doesn't run in config.controllers, without \"*\", or stop it and set nativeManager: stopped" -}}
{{- if not $election.leaderElect -}}{{- fail (printf "config.leaderElection.leaderElect: false: %s" $hint) -}}{{- end -}}
{{- if $election.groups -}}{{- fail (printf "config.leaderElection.groups: groups have Leases of their own, so %s" $hint) -}}{{- end -}}
{{- if or (ne $election.resourceName "kube-controller-manager") (ne $election.resourceNamespace "kube-system") -}}
{{- fail (printf "config.leaderElection.resourceName: %s/%s isn't the Lease of kube-controller-manager, so %s" $election.resourceNamespace $election.resourceName $hint) -}}
{{- end -}}
{{- end -}}
{{- range $config.plugins }}{{ $_ := required "config.plugins: each needs a name" .name }}{{ end -}}
{{- if lt (int $config.serving.port) 0 }}{{ fail (printf "config.serving.port: %d: in a pod the port must be known: name one, or 0 for none" (int $config.serving.port)) }}{{ end }}
{{- end }}

{{/* What windlass reads at its start alone: a change of it takes new pods, other changes of the configuration don't. */}}
{{- define "windlass.start" -}}
{{- $config := include "windlass.config" . | fromJson -}}
{{- $logging := $config.logging | default dict -}}
{{- $client := $config.clientConnection | default dict -}}
{{- list $config.leaderElection $config.serving.bindAddress $config.serving.port (($config.serving.authentication | default dict).tolerateLookupFailure) $logging.format $logging.vmodule $config.shutdownTimeout $config.minResyncPeriod $client.kubeconfig $client.server | toJson | sha256sum | trunc 16 -}}
{{- end }}

{{/* Whether a controller of files/rights.yaml runs: the first entry of the list that names it decides, as for windlass itself. Arguments: list of names, controller. */}}
{{- define "windlass.enabled" -}}
{{- $names := index . 0 -}}
{{- $c := index . 1 -}}
{{- $on := "" -}}
{{- $star := false -}}
{{- range $names -}}
{{- if eq . "*" }}{{ $star = true }}{{ end -}}
{{- if not $on -}}
{{- if has . (list $c.name $c.alias) }}{{ $on = "yes" }}{{ end -}}
{{- if has . (list (printf "-%s" $c.name) (printf "-%s" $c.alias)) }}{{ $on = "no" }}{{ end -}}
{{- end -}}
{{- end -}}
{{- if or (eq $on "yes") (and (not $on) $star (not $c.disabledByDefault)) -}}true{{- end -}}
{{- end }}

{{/* The plugins of files/rights.yaml of which some controller runs, as JSON: {"plugins": [...]}. */}}
{{- define "windlass.plugins" -}}
{{- $config := include "windlass.config" . | fromJson -}}
{{- $on := list -}}
{{- range (.Files.Get "files/rights.yaml" | fromYaml).plugins -}}
{{- $enabled := false -}}
{{- range .controllers -}}
{{- if include "windlass.enabled" (list $config.controllers .) }}{{ $enabled = true }}{{ end -}}
{{- end -}}
{{- if $enabled }}{{ $on = append $on . }}{{ end -}}
{{- end -}}
{{- dict "plugins" $on | toJson -}}
{{- end }}
