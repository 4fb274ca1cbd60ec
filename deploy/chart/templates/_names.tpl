{{- /* The image of a program: (list $ .Values.PROGRAM.image). The tag is the chart's version. */}}
{{- define "shuntyard.image" -}}
{{- $image := index . 1 }}
{{- if $image.digest }}
{{- printf "%s@%s" $image.repository $image.digest }}
{{- else }}
{{- printf "%s:%s" $image.repository ($image.tag | default (index . 0).Chart.AppVersion) }}
{{- end }}
{{- end }}

{{- /* kube-scheduler has the cluster's version; providers append to it ("v1.34.1-gke.7"). */}}
{{- define "shuntyard.kubeSchedulerImage" -}}
{{- $image := $.Values.kubeScheduler.image }}
{{- if $image.digest }}
{{- printf "%s@%s" $image.repository $image.digest }}
{{- else }}
{{- $version := regexFind "^v[0-9]+\\.[0-9]+\\.[0-9]+" $.Capabilities.KubeVersion.Version }}
{{- printf "%s:%s" $image.repository ($image.tag | default $version) }}
{{- end }}
{{- end }}

{{- /* "true" if the policy that adds the gate is wanted, and the cluster has its kind if "auto". */}}
{{- define "shuntyard.gate" -}}
{{- if eq (toString $.Values.gate.enabled) "auto" }}
{{- $.Capabilities.APIVersions.Has "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy" }}
{{- else }}
{{- $.Values.gate.enabled }}
{{- end }}
{{- end }}

{{- /* The annotation that keeps an object when the release is removed. */}}
{{- define "shuntyard.keep" -}}
{{- if $.Values.crds.keep }}
helm.sh/resource-policy: keep
{{- end }}
{{- end }}

{{- /* In the annotations of pods: a change of settings restarts them. */}}
{{- define "shuntyard.extender.checksum" -}}
{{- list (include "shuntyard.extender.settings" $) (include "shuntyard.kubeScheduler.settings" $) | join "" | sha256sum }}
{{- end }}
{{- define "shuntyard.agent.checksum" -}}
{{- include "shuntyard.agent.settings" $ | sha256sum }}
{{- end }}
