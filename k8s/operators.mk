# Charts of operators, with the versions that the manifests of k8s/ are written for. Before the stroke is the name under which helm
# knows the chart repository of the operator's project: `helm repo add NAME ADDRESS`, the address as the project's page says.
operator.strimzi := strimzi/strimzi-kafka-operator --version 1.2.0 --values k8s/kafka/operator.yaml
operator.cert-manager := jetstack/cert-manager --version v1.19.1 --values k8s/redis/cert-manager.yaml
operator.redis-operator := ot-helm/redis-operator --version 0.26.1 --values k8s/redis/operator.yaml
operator.spark-operator := spark-operator/spark-operator --version 2.5.2 --values k8s/spark/operator.yaml
