
import django.db.models.deletion
import django.db.models.functions.comparison
import django.db.models.functions.text
import django.utils.timezone
import queries.models
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='ChainCost',
            fields=[
                ('chain', models.PositiveBigIntegerField(primary_key=True, serialize=False)),
                ('transactions', models.PositiveBigIntegerField(default=0)),
                ('gas', models.PositiveBigIntegerField(default=0)),
                ('spent', models.CharField(default='0000000000000000000000000000000000000000000000000000000000000000', max_length=64)),
            ],
        ),
        migrations.CreateModel(
            name='ChainRecord',
            fields=[
                ('chain', models.PositiveBigIntegerField(primary_key=True, serialize=False)),
                ('polled_at', models.DateTimeField(null=True)),
                ('checked_at', models.DateTimeField(null=True)),
                ('recorded_at', models.DateTimeField(null=True)),
                ('number', models.PositiveBigIntegerField(default=0)),
                ('new_block_at', models.DateTimeField(null=True)),
                ('timestamp', models.PositiveBigIntegerField(default=0)),
                ('final_number', models.PositiveBigIntegerField(default=0)),
                ('block_seconds', models.FloatField(null=True)),
                ('block_times', models.JSONField(default=list)),
                ('genesis_has_accounts', models.BooleanField(null=True)),
                ('needed_window', models.PositiveBigIntegerField(null=True)),
                ('signer', models.CharField(default='', max_length=42)),
                ('balance', models.CharField(default='', max_length=64)),
                ('state_horizons', models.JSONField(default=dict)),
            ],
        ),
        migrations.CreateModel(
            name='Attestation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('source', models.PositiveBigIntegerField()),
                ('destination', models.PositiveBigIntegerField()),
                ('registry', models.CharField(max_length=42)),
                ('block', models.PositiveBigIntegerField()),
                ('block_hash', models.CharField(max_length=64)),
                ('signer', models.CharField(max_length=42)),
                ('signature', models.CharField(max_length=130)),
                ('received_at', models.DateTimeField()),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('source', 'destination', 'registry', 'block', 'signer'), name='queries_attestation_signer')],
            },
        ),
        migrations.CreateModel(
            name='Batch',
            fields=[
                ('lease_token', models.CharField(default='', editable=False, max_length=32)),
                ('lease_until', models.DateTimeField(editable=False, null=True)),
                ('due_at', models.DateTimeField(db_index=True, editable=False, null=True)),
                ('waits_for', models.TextField(default='')),
                ('wait_code', models.CharField(default='', max_length=40)),
                ('failures', models.PositiveIntegerField(default=0)),
                ('provable_since', models.DateTimeField(null=True)),
                ('turn', models.DateTimeField(default=django.utils.timezone.now)),
                ('id', models.CharField(max_length=26, primary_key=True, serialize=False)),
                ('destination', models.PositiveBigIntegerField()),
                ('fee', models.CharField(max_length=64)),
                ('spent', models.CharField(default='0000000000000000000000000000000000000000000000000000000000000000', max_length=64)),
                ('status', models.CharField(choices=[('RECEIVED', 'Received'), ('ACCEPTED', 'Accepted'), ('IN_PROGRESS', 'In Progress'), ('DONE', 'Done'), ('REJECTED', 'Rejected')], default='RECEIVED', max_length=11)),
                ('submitted_at', models.DateTimeField()),
                ('not_final_since', models.DateTimeField(null=True)),
                ('ended_at', models.DateTimeField(null=True)),
                ('warnings', models.JSONField(default=list)),
                ('idempotency_key', models.CharField(max_length=255, null=True)),
                ('request_digest', models.CharField(max_length=64)),
                ('webhook_url', models.CharField(default='', max_length=2000)),
                ('webhook_headers', models.JSONField(default=list)),
                ('query_count', models.PositiveIntegerField(default=0)),
                ('block_count', models.PositiveIntegerField(default=0)),
                ('source_count', models.PositiveIntegerField(default=0)),
                ('account_count', models.PositiveIntegerField(default=0)),
                ('fact_count', models.PositiveIntegerField(default=0)),
                ('header_field_count', models.PositiveIntegerField(default=0)),
                ('event_count', models.PositiveIntegerField(default=0)),
                ('is_uniform', models.BooleanField(default=True)),
                ('error_code', models.CharField(default='', max_length=60)),
                ('error_sentence', models.CharField(default='', max_length=1000)),
                ('error_step', models.CharField(default='', max_length=20)),
                ('error_retryable', models.BooleanField(null=True)),
                ('owner', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='batches', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='BlockJob',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('lease_token', models.CharField(default='', editable=False, max_length=32)),
                ('lease_until', models.DateTimeField(editable=False, null=True)),
                ('due_at', models.DateTimeField(db_index=True, editable=False, null=True)),
                ('waits_for', models.TextField(default='')),
                ('wait_code', models.CharField(default='', max_length=40)),
                ('failures', models.PositiveIntegerField(default=0)),
                ('provable_since', models.DateTimeField(null=True)),
                ('turn', models.DateTimeField(default=django.utils.timezone.now)),
                ('source', models.PositiveBigIntegerField()),
                ('destination', models.PositiveBigIntegerField()),
                ('block', models.PositiveBigIntegerField()),
                ('header', queries.models.BytesField(default=b'')),
                ('block_hash', models.CharField(default='', max_length=64)),
            ],
            options={
                'indexes': [models.Index(fields=['source', 'block'], name='queries_job_block'), models.Index(condition=models.Q(('block_hash', ''), _negated=True), fields=['block_hash'], name='queries_job_hash'), models.Index(django.db.models.functions.comparison.Greatest('turn', 'due_at'), models.F('id'), condition=models.Q(('due_at__isnull', False)), name='queries_job_queue'), models.Index(models.F('source'), models.F('destination'), django.db.models.functions.comparison.Greatest('turn', 'due_at'), models.F('id'), condition=models.Q(('due_at__isnull', False)), name='queries_job_route')],
                'constraints': [models.UniqueConstraint(fields=('source', 'destination', 'block'), name='queries_job_key')],
            },
        ),
        migrations.CreateModel(
            name='DailyCount',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('day', models.DateField()),
                ('name', models.CharField(max_length=60)),
                ('amount', models.PositiveBigIntegerField()),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('day', 'name'), name='queries_dailycount_day')],
            },
        ),
        migrations.CreateModel(
            name='Fact',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('source', models.PositiveBigIntegerField()),
                ('block', models.PositiveBigIntegerField()),
                ('account', models.CharField(default='', max_length=42)),
                ('name', models.CharField(max_length=340)),
                ('kind', models.CharField(max_length=20)),
                ('is_listed', models.BooleanField(default=True)),
                ('word', queries.models.BytesField(null=True)),
                ('proven_at', models.DateTimeField(null=True)),
                ('details', models.JSONField(null=True)),
                ('job', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='facts', to='queries.blockjob')),
            ],
        ),
        migrations.CreateModel(
            name='FactMention',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('source', models.PositiveBigIntegerField()),
                ('block', models.PositiveBigIntegerField()),
                ('address_or_hash', models.CharField(max_length=66)),
                ('fact', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='mentions', to='queries.fact')),
            ],
        ),
        migrations.CreateModel(
            name='JobTransaction',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('proves_header', models.BooleanField(default=False)),
                ('pieces_digest', models.CharField(default='', max_length=64)),
                ('open', models.BooleanField(default=True)),
                ('job', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='queries.blockjob')),
            ],
        ),
        migrations.CreateModel(
            name='NodeRecord',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('chain', models.PositiveBigIntegerField()),
                ('position', models.PositiveSmallIntegerField()),
                ('recorded_at', models.DateTimeField()),
                ('fault', models.CharField(default='', max_length=60)),
                ('number', models.PositiveBigIntegerField(null=True)),
                ('lag', models.PositiveBigIntegerField(null=True)),
                ('can_resolve_names', models.BooleanField(null=True)),
                ('proof_window', models.BigIntegerField(null=True)),
                ('measured_at', models.DateTimeField(null=True)),
                ('measured_number', models.PositiveBigIntegerField(default=0)),
                ('client', models.CharField(default='', max_length=60)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('chain', 'position'), name='queries_node_position')],
            },
        ),
        migrations.CreateModel(
            name='Proof',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('subject', models.CharField(max_length=42)),
                ('content', queries.models.BytesField()),
                ('job', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='proofs', to='queries.blockjob')),
            ],
        ),
        migrations.CreateModel(
            name='SentTransaction',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('chain', models.PositiveBigIntegerField()),
                ('sender', models.CharField(max_length=42)),
                ('nonce', models.PositiveBigIntegerField()),
                ('to', models.CharField(default='', max_length=42)),
                ('raw', queries.models.BytesField()),
                ('hashes', models.JSONField(default=list)),
                ('max_fee', models.CharField(max_length=64)),
                ('gas_limit', models.PositiveBigIntegerField()),
                ('max_cost', models.CharField(max_length=64)),
                ('is_preparation', models.BooleanField(default=False)),
                ('hops', models.PositiveSmallIntegerField(default=0)),
                ('signed_at', models.DateTimeField()),
                ('replaced_at', models.DateTimeField(null=True)),
                ('sent_at', models.DateTimeField(null=True)),
                ('nonce_used_block', models.PositiveBigIntegerField(null=True)),
                ('mined_hash', models.CharField(default='', max_length=66)),
                ('mined_block', models.PositiveBigIntegerField(null=True)),
                ('succeeded', models.BooleanField(null=True)),
                ('gas_used', models.PositiveBigIntegerField(null=True)),
                ('gas_price', models.CharField(default='', max_length=64)),
                ('data_fee', models.CharField(default='', max_length=64)),
                ('confirmed', models.BooleanField(default=False)),
                ('final', models.BooleanField(default=False)),
                ('last_final_check', models.DateTimeField(null=True)),
                ('jobs', models.ManyToManyField(related_name='transactions', through='queries.JobTransaction', to='queries.blockjob')),
            ],
        ),
        migrations.CreateModel(
            name='SentHash',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('hash', models.CharField(max_length=66)),
                ('transaction', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='sent_hashes', to='queries.senttransaction')),
            ],
        ),
        migrations.CreateModel(
            name='Query',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('position', models.PositiveIntegerField()),
                ('source', models.PositiveBigIntegerField()),
                ('timestamp', models.PositiveBigIntegerField(null=True)),
                ('block', models.PositiveBigIntegerField(null=True)),
                ('account', models.CharField(default='', max_length=42)),
                ('name', models.CharField(default='', max_length=255)),
                ('props', models.PositiveSmallIntegerField(default=0)),
                ('slot_count', models.PositiveIntegerField(default=0)),
                ('header_fields', models.PositiveIntegerField(default=0)),
                ('event_count', models.PositiveIntegerField(default=0)),
                ('events_block_hash', models.CharField(default='', max_length=64)),
                ('initial_state_began_at', models.DateTimeField()),
                ('initial_state_completed_at', models.DateTimeField(null=True)),
                ('blockhash_available_began_at', models.DateTimeField(null=True)),
                ('blockhash_available_completed_at', models.DateTimeField(null=True)),
                ('header_accumulated_began_at', models.DateTimeField(null=True)),
                ('header_accumulated_completed_at', models.DateTimeField(null=True)),
                ('account_accumulated_began_at', models.DateTimeField(null=True)),
                ('account_accumulated_completed_at', models.DateTimeField(null=True)),
                ('has_ended', models.BooleanField(default=False)),
                ('failed', models.BooleanField(default=False)),
                ('slots', models.JSONField(default=list)),
                ('spelling', models.JSONField(null=True)),
                ('event_request', models.JSONField(null=True)),
                ('event_names', models.JSONField(default=list)),
                ('batch', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='queries', to='queries.batch')),
                ('job', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='queries', to='queries.blockjob')),
                ('account_transaction', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='queries.senttransaction')),
                ('blockhash_transaction', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='queries.senttransaction')),
                ('header_transaction', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='queries.senttransaction')),
            ],
        ),
        migrations.AddField(
            model_name='jobtransaction',
            name='transaction',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='job_links', to='queries.senttransaction'),
        ),
        migrations.AddField(
            model_name='fact',
            name='transaction',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='queries.senttransaction'),
        ),
        migrations.CreateModel(
            name='Share',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('max_cost', models.CharField(max_length=64)),
                ('paid', models.CharField(default='', max_length=64)),
                ('batch', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='shares', to='queries.batch')),
                ('transaction', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='shares', to='queries.senttransaction')),
            ],
        ),
        migrations.CreateModel(
            name='Token',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('chain', models.PositiveBigIntegerField()),
                ('address', models.CharField(max_length=42)),
                ('symbol', models.CharField(max_length=16)),
                ('decimals', models.PositiveSmallIntegerField(null=True)),
            ],
            options={
                'indexes': [models.Index(django.db.models.functions.text.Lower('symbol'), name='queries_token_symbol')],
                'constraints': [models.UniqueConstraint(fields=('chain', 'address'), name='queries_token_key')],
            },
        ),
        migrations.AddField(
            model_name='fact',
            name='token',
            field=models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='queries.token'),
        ),
        migrations.CreateModel(
            name='WebhookDelivery',
            fields=[
                ('lease_token', models.CharField(default='', editable=False, max_length=32)),
                ('lease_until', models.DateTimeField(editable=False, null=True)),
                ('due_at', models.DateTimeField(db_index=True, editable=False, null=True)),
                ('waits_for', models.TextField(default='')),
                ('wait_code', models.CharField(default='', max_length=40)),
                ('failures', models.PositiveIntegerField(default=0)),
                ('provable_since', models.DateTimeField(null=True)),
                ('id', models.CharField(max_length=26, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField()),
                ('delivered_at', models.DateTimeField(null=True)),
                ('body', queries.models.BytesField(default=b'')),
                ('batch', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='queries.batch')),
                ('corrects', models.OneToOneField(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='correction', to='queries.webhookdelivery')),
                ('owner', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='WebhookAttempt',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('made_at', models.DateTimeField()),
                ('status', models.PositiveSmallIntegerField(null=True)),
                ('fault', models.CharField(default='', max_length=200)),
                ('first_line', models.CharField(default='', max_length=200)),
                ('milliseconds', models.PositiveIntegerField()),
                ('delivery', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='attempts', to='queries.webhookdelivery')),
            ],
        ),
        migrations.AddIndex(
            model_name='batch',
            index=models.Index(fields=['owner', '-id'], name='queries_batch_owner'),
        ),
        migrations.AddIndex(
            model_name='batch',
            index=models.Index(fields=['owner', 'status', '-id'], name='queries_batch_owner_status'),
        ),
        migrations.AddIndex(
            model_name='batch',
            index=models.Index(fields=['status', '-id'], name='queries_batch_status'),
        ),
        migrations.AddIndex(
            model_name='batch',
            index=models.Index(fields=['destination', '-id'], name='queries_batch_dest'),
        ),
        migrations.AddIndex(
            model_name='batch',
            index=models.Index(fields=['destination', 'status', '-id'], name='queries_batch_dest_status'),
        ),
        migrations.AddIndex(
            model_name='batch',
            index=models.Index(condition=models.Q(('ended_at', None)), fields=['owner', 'query_count'], name='queries_batch_open'),
        ),
        migrations.AddIndex(
            model_name='batch',
            index=models.Index(django.db.models.functions.comparison.Greatest('turn', 'due_at'), models.F('id'), condition=models.Q(('due_at__isnull', False)), name='queries_batch_queue'),
        ),
        migrations.AddIndex(
            model_name='batch',
            index=models.Index(models.F('destination'), django.db.models.functions.comparison.Greatest('turn', 'due_at'), models.F('id'), condition=models.Q(('due_at__isnull', False)), name='queries_batch_route'),
        ),
        migrations.AddConstraint(
            model_name='batch',
            constraint=models.UniqueConstraint(fields=('owner', 'idempotency_key'), name='queries_batch_idempotency_key'),
        ),
        migrations.AddIndex(
            model_name='factmention',
            index=models.Index(fields=['address_or_hash', 'source', '-block'], name='queries_mention_search'),
        ),
        migrations.AddConstraint(
            model_name='factmention',
            constraint=models.UniqueConstraint(fields=('fact', 'address_or_hash'), name='queries_mention_key'),
        ),
        migrations.AddIndex(
            model_name='proof',
            index=models.Index(fields=['job', 'subject'], name='queries_proof_subject'),
        ),
        migrations.AddIndex(
            model_name='senttransaction',
            index=models.Index(condition=models.Q(('confirmed', False)), fields=['chain', 'sender', 'nonce'], name='queries_tx_unconfirmed'),
        ),
        migrations.AddIndex(
            model_name='senttransaction',
            index=models.Index(condition=models.Q(('confirmed', True), ('final', False)), fields=['chain', 'sender', 'mined_block'], name='queries_tx_not_final'),
        ),
        migrations.AddIndex(
            model_name='senttransaction',
            index=models.Index(fields=['chain', 'sender', 'signed_at'], name='queries_tx_signed_at'),
        ),
        migrations.AddConstraint(
            model_name='senttransaction',
            constraint=models.UniqueConstraint(fields=('chain', 'sender', 'nonce'), name='queries_tx_nonce'),
        ),
        migrations.AddConstraint(
            model_name='senthash',
            constraint=models.UniqueConstraint(fields=('hash', 'transaction'), name='queries_senthash_hash'),
        ),
        migrations.AddIndex(
            model_name='query',
            index=models.Index(condition=models.Q(('has_ended', False)), fields=['job'], name='queries_query_open_job'),
        ),
        migrations.AddIndex(
            model_name='query',
            index=models.Index(fields=['account', '-id'], name='queries_query_account'),
        ),
        migrations.AddIndex(
            model_name='query',
            index=models.Index(fields=['source', 'block', 'account', 'id'], name='queries_query_block'),
        ),
        migrations.AddIndex(
            model_name='query',
            index=models.Index(condition=models.Q(('name', ''), _negated=True), fields=['name', '-id'], name='queries_query_name'),
        ),
        migrations.AddConstraint(
            model_name='query',
            constraint=models.UniqueConstraint(fields=('batch', 'position'), name='queries_query_position'),
        ),
        migrations.AddConstraint(
            model_name='jobtransaction',
            constraint=models.UniqueConstraint(fields=('transaction', 'job'), name='queries_jobtx_job'),
        ),
        migrations.AddConstraint(
            model_name='jobtransaction',
            constraint=models.UniqueConstraint(condition=models.Q(('open', True), models.Q(('pieces_digest', ''), _negated=True)), fields=('job', 'pieces_digest'), name='queries_jobtx_open_pieces'),
        ),
        migrations.AddConstraint(
            model_name='share',
            constraint=models.UniqueConstraint(fields=('transaction', 'batch'), name='queries_share_batch'),
        ),
        migrations.AddIndex(
            model_name='fact',
            index=models.Index(fields=['source', 'block', 'id'], name='queries_fact_block'),
        ),
        migrations.AddIndex(
            model_name='fact',
            index=models.Index(condition=models.Q(('account', ''), _negated=True), fields=['account', 'source', '-block', '-id'], name='queries_fact_account'),
        ),
        migrations.AddConstraint(
            model_name='fact',
            constraint=models.UniqueConstraint(fields=('job', 'account', 'name'), name='queries_fact_key'),
        ),
        migrations.AddIndex(
            model_name='webhookdelivery',
            index=models.Index(fields=['owner', '-id'], name='queries_delivery_owner'),
        ),
        migrations.AddIndex(
            model_name='webhookdelivery',
            index=models.Index(condition=models.Q(('due_at__isnull', False)), fields=['owner', 'due_at', 'id'], name='queries_delivery_queue'),
        ),
        migrations.AddIndex(
            model_name='webhookdelivery',
            index=models.Index(condition=models.Q(('lease_until__isnull', False)), fields=['owner', 'lease_until'], name='queries_delivery_in_progress'),
        ),
    ]
