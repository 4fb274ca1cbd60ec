{{/* Made by `python -m release chart` from the files of settings in deploy/. */}}
{{- define "shuntyard.agent.shipped" -}}
# The agents' settings that differ from docs/reference/agent-settings.md.
extender:
  service: shuntyard-agents.shuntyard-system.svc   # headless: every replica
  server_name: shuntyard-agents.shuntyard-system.svc
api:
  listen_host: 0.0.0.0   # probes and metrics; nothing else is served there
{{- end }}

{{- define "shuntyard.agent.settings" -}}
{{- with $.Values.agent.settings }}
{{- toYaml (mergeOverwrite (include "shuntyard.agent.shipped" $ | fromYaml) .) }}
{{- else }}
{{- include "shuntyard.agent.shipped" $ }}
{{- end }}
{{- end }}

{{- define "shuntyard.kubeScheduler.shipped" -}}
# The kube-scheduler instance that works with the extender; all its profiles are ours, because
# extenders are shared by the profiles of a process.
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection:
  leaderElect: true                # the extender beside the holder is the leader
  resourceName: shuntyard
  resourceNamespace: kube-system
clientConnection:                  # as the pod's service account; elsewhere: kubeconfig: FILE
  qps: 1000                        # with the defaults (50, 100) a gang would wait for them
  burst: 2000
percentageOfNodesToScore: 100      # 0 takes a sample of the nodes, which may lack the planned one
podInitialBackoffSeconds: 1
podMaxBackoffSeconds: 5            # longest delay until a pod notices a change; the default is 10
profiles:
- schedulerName: shuntyard
  plugins:
    multiPoint:
      disabled:
      - name: DefaultPreemption    # the extender decides which pods leave, and only after a checkpoint
extenders:
# Filter and prioritize run inside kube-scheduler's one scheduling loop: a short time-out.
- urlPrefix: http://127.0.0.1:10261
  filterVerb: filter
  prioritizeVerb: prioritize
  weight: 1
  httpTimeout: 5s
  nodeCacheCapable: true
  ignorable: false
# Binding waits for the whole gang and blocks nothing meanwhile: a long one.
- urlPrefix: http://127.0.0.1:10261
  bindVerb: bind
  httpTimeout: 300s
  nodeCacheCapable: true
  ignorable: false
{{- end }}

{{- define "shuntyard.kubeScheduler.settings" -}}
{{- with $.Values.kubeScheduler.settings }}
{{- toYaml (mergeOverwrite (include "shuntyard.kubeScheduler.shipped" $ | fromYaml) .) }}
{{- else }}
{{- include "shuntyard.kubeScheduler.shipped" $ }}
{{- end }}
{{- end }}

{{- define "shuntyard.extender.shipped" -}}
{{- if $.Values.attached.enabled -}}
# The extender's settings that differ from docs/reference/settings.md.
scheduler:
  listen_host: 0.0.0.0         # kube-scheduler is elsewhere, and sends a certificate
  certificate: /run/shuntyard/certificates/tls.crt
  key: /run/shuntyard/certificates/tls.key
  client_authority: /run/shuntyard/certificates/ca.crt
api:
  listen_host: 0.0.0.0
agents:
  listen_host: 0.0.0.0
  certificate: /run/shuntyard/certificates/tls.crt
  key: /run/shuntyard/certificates/tls.key
certificates:
  managed: true
signing:
  secret: shuntyard-signing-keys
lease:                         # its own: kube-scheduler's does not elect among our replicas
  namespace: shuntyard-system
  hold: true
peers:
  service: shuntyard-extender  # a standby forwards reads to the leader
endpoint:
  service: shuntyard-scheduler # the leader writes its address there
{{- else -}}
# The extender's settings that differ from docs/reference/settings.md. To set more, replace this
# whole file (deploy/README.md) and keep these.
api:
  listen_host: 0.0.0.0       # probes, metrics and the read API: they come from other addresses
agents:
  listen_host: 0.0.0.0       # agents are on other nodes
  certificate: /run/shuntyard/certificates/tls.crt
  key: /run/shuntyard/certificates/tls.key
peers:
  service: shuntyard-extender   # a standby forwards reads to the leader
certificates:
  managed: true              # issued and renewed by the replicas, stored in shuntyard-certificates
gating:
  config_map: shuntyard-gate   # exists where components/gate is installed
signing:
  secret: shuntyard-signing-keys   # signs reservations and records (docs/our-keys.md)
{{- end }}
{{- end }}

{{- define "shuntyard.extender.settings" -}}
{{- with $.Values.extender.settings }}
{{- toYaml (mergeOverwrite (include "shuntyard.extender.shipped" $ | fromYaml) .) }}
{{- else }}
{{- include "shuntyard.extender.shipped" $ }}
{{- end }}
{{- end }}

