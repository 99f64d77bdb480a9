{{- /* Names begin with that of the release: several can be in one namespace. */ -}}
{{- define "troupe.name" -}}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{- end -}}
{{- define "troupe.image" -}}{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{- end -}}
{{- define "troupe.secret" -}}{{ .Values.clusterSecret | default (printf "%s-cluster" (include "troupe.name" .)) }}{{- end -}}

{{- define "troupe.peers" -}}
{{- $name := include "troupe.name" . -}}
{{- $all := list -}}
{{- range $i := until (int .Values.nodes.replicas) -}}
{{- $all = append $all (printf "%s-%d.%s-nodes:7222" $name $i $name) -}}
{{- end -}}
{{- join "," $all -}}
{{- end -}}

{{- define "troupe.map" -}}
{{- $all := list -}}
{{- range $k, $v := . -}}
{{- $all = append $all (printf "%s: %s" $k (toJson $v)) -}}
{{- end -}}
{ {{- join ", " $all -}} }
{{- end -}}

{{- define "troupe.resources" }}
            requests: {{ include "troupe.map" .requests }}
            limits: {{ include "troupe.map" .limits }}
{{- end -}}

{{- define "troupe.placement" }}
{{- with .nodeSelector }}
      nodeSelector: {{ toJson . }}
{{- end }}
{{- with .tolerations }}
      tolerations: {{ toJson . }}
{{- end }}
{{- end -}}

{{- define "troupe.settings" }}
{{- range $name, $value := .Values.settings }}
            - {name: {{ $name }}, value: {{ $value | toString | quote }}}
{{- end }}
{{- end -}}
