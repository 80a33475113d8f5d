# Charts of operators, with the versions that the manifests of k8s/ are written for. The part before the slash is helm's name for
# the project's chart repository: `helm repo add NAME ADDRESS`, with the address from the project's page.
operator.strimzi := strimzi/strimzi-kafka-operator --version 1.2.0 --values k8s/kafka/operator.yaml
operator.cert-manager := jetstack/cert-manager --version v1.19.1 --values k8s/redis/cert-manager.yaml
operator.redis-operator := ot-helm/redis-operator --version 0.26.1 --values k8s/redis/operator.yaml
operator.spark-operator := spark-operator/spark-operator --version 2.5.2 --values k8s/spark/operator.yaml
