#!/usr/bin/env bash
# Checks the chart: `helm lint`, the schema of the values, the manifests of the values in `ci` with
# kubeconform against the schemas of Kubernetes and of the operators, and that `rendered` is up to
# date. A test of `martlet` reads the configurations in `rendered` (cli/tests/helm.rs).
#
#     deploy/helm/test.sh             check
#     deploy/helm/test.sh --write     write `rendered`
set -euo pipefail
cd "$(dirname "$0")/../.."
tools=$PWD/target/helm
helm=$tools/bin/helm
PATH=$PATH:/usr/local/go/bin
if [ ! -x "$helm" ] || [ ! -x "$tools/bin/kubeconform" ]; then
    echo "Martlet builds helm 3.22 and kubeconform 0.7 with Go, and installs kubernetes-validate" \
        "from PyPI, which has Kubernetes' schemas, in $tools."
    GOBIN=$tools/bin go install helm.sh/helm/v3/cmd/helm@v3.22.0
    GOBIN=$tools/bin go install github.com/yannh/kubeconform/cmd/kubeconform@v0.7.0
fi
if [ ! -x "$tools/python/bin/python" ]; then
    python3 -m venv "$tools/python"
    "$tools/python/bin/pip" install --quiet kubernetes-validate==1.37.0
fi
chart=deploy/helm
failed=0
# The schemas of the operators are in their Go modules.
module() { # PATH VERSION: its folder
    go mod download -json "$1@$2" | sed -n 's/^\s*"Dir": "\(.*\)",$/\1/p'
}
schemas=$tools/schemas
if [ ! -e "$schemas/complete" ]; then
    cluster=$(module github.com/cloudnative-pg/cloudnative-pg v1.25.0)/config/crd/bases
    monitor=$(module github.com/prometheus-operator/prometheus-operator v0.85.0)/example
    kubernetes=$("$tools/python/bin/python" -c \
        'import os, kubernetes_validate as k; print(os.path.dirname(k.__file__))')
    "$tools/python/bin/python" "$chart/schemas.py" "$schemas" \
        "$kubernetes/kubernetes-json-schema/v1.30.0-local-strict" \
        "$cluster/postgresql.cnpg.io_clusters.yaml" \
        "$monitor/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml"
    touch "$schemas/complete"
fi
conforms() { # FILE
    "$tools/bin/kubeconform" -strict -schema-location \
        "$schemas/{{ .ResourceKind }}{{ .KindSuffix }}.json" "$@"
}
for values in "$chart"/ci/*.yaml; do
    name=$(basename "$values" .yaml)
    "$helm" lint --strict --quiet "$chart" -f "$values"
    "$helm" template core "$chart" --namespace 5g --kube-version 1.30.0 -f "$values" \
        > "$tools/$name.yaml"
    conforms -summary "$tools/$name.yaml" || failed=1
    "$tools/python/bin/python" "$chart/check.py" "$tools/$name.yaml"
    if [ "${1:-}" = --write ]; then
        cp "$tools/$name.yaml" "$chart/rendered/$name.yaml"
    elif ! diff -u "$chart/rendered/$name.yaml" "$tools/$name.yaml"; then
        echo "helm: rendered/$name.yaml is old: run deploy/helm/test.sh --write" >&2
        failed=1
    fi
done
# A database without a standby.
"$helm" template core "$chart" --kube-version 1.30.0 -f "$chart/ci/cloudnative-pg.yaml" \
    --set database.cloudnativePg.instances=1 > "$tools/one-instance.yaml"
conforms "$tools/one-instance.yaml" || failed=1
"$tools/python/bin/python" "$chart/check.py" "$tools/one-instance.yaml"
# What kubeconform has to refuse: of Kubernetes, and of both operators.
for wrong in 's/replicas: 2/replicas: two/' 's/clusterIP: None/clusterIp: None/' \
    's/method: any/method: most/' 's/endpoints:/endpoint:/'; do
    sed "$wrong" "$tools/cloudnative-pg.yaml" > "$tools/wrong.yaml"
    if cmp -s "$tools/cloudnative-pg.yaml" "$tools/wrong.yaml" ||
        conforms "$tools/wrong.yaml" > /dev/null; then
        echo "helm: kubeconform accepts $wrong" >&2
        failed=1
    fi
done
# What the schema has to refuse, in values that are right otherwise.
while read -r option wrong; do
    if "$helm" template core "$chart" --kube-version 1.30.0 -f "$chart/ci/external.yaml" \
        "$option" "$wrong" > /dev/null 2>&1; then
        echo "helm: the schema accepts $wrong" >&2
        failed=1
    fi
done <<'WRONG'
--set network.plmn=1
--set amf.replicas=0
--set core.replicas=0
--set core.replicas=two
--set amf.set=1024
--set amf.n2.network=multus
--set database.kind=sqlite
--set database.external.parameters=sslmode=prefer
--set upf.datapath=dpdk
--set smf.dnns[0].name=internet,smf.dnns[0].pools[0]=10.45.0.0
--set smf.dnns[0].name=internet,smf.dnns[0].pools={10.45.0.0/17,10.45.128.0/17},smf.dnns[0].pool=10.9.0.0/16
--set smf.dnns[0].name=internet,smf.dnns[0].pools={10.45.0.0/17,10.45.128.0/17},smf.dnns[0].pool6=fd45::/48
--set smf.dnns[0].name=internet,smf.dnns[0].pools={10.45.0.0/17,10.45.128.0/17},smf.dnns[0].static_pool=10.45.127.0/24
--set imagee.tag=1
--set networkPolicy.gnbs=null
--set upf.n4Allow=null
--set-json networkPolicy.gnbs=[]
--set-json upf.n4Allow=[]
WRONG
[ "$failed" = 0 ] && echo "helm: all is well"
